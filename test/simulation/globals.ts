/** Time, chance and the network of the program, replaced by those of a simulated world while it runs. */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import type { Random } from '../fuzz/random.ts'
import type { VirtualTimer, World } from './world.ts'

/** When simulated time begins. */
const EPOCH_MS = Date.UTC(2026, 0, 1)

type Fetch = typeof globalThis.fetch

/** Replaces them. Returns the function that puts the real ones back. What no simulated host asks for stays real. */
export function installGlobals(world: World, ids: Random, fetch: Fetch): () => void {
  const real = {
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    setImmediate,
    fetch: globalThis.fetch,
    now: Date.now,
    performanceNow: performance.now.bind(performance),
    random: Math.random,
    webUuid: globalThis.crypto.randomUUID,
    uuid: crypto.randomUUID,
    bytes: crypto.randomBytes,
    fill: crypto.randomFillSync,
  }
  const timers = new WeakSet<object>()
  const timer =
    (fallback: typeof setTimeout | typeof setInterval, isRepeated: boolean) =>
    (run: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]): unknown => {
      const host = world.current
      if (host === undefined) return fallback(run, delayMs, ...args)
      const made = world.setTimer(host, () => run(...args), delayMs, isRepeated, run.name)
      timers.add(made)
      return made
    }
  const clear =
    (fallback: (timer: never) => void) =>
    (given: unknown): void => {
      if (typeof given === 'object' && given !== null && timers.has(given)) world.clearTimer(given as VirtualTimer)
      else fallback(given as never)
    }
  const hex = (digits: number): string => (2 ** (4 * digits) + ids.below(2 ** (4 * digits))).toString(16).slice(1)
  const uuid = (): string => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`
  Object.assign(globalThis, {
    setTimeout: timer(real.setTimeout, false),
    clearTimeout: clear(real.clearTimeout),
    setInterval: timer(real.setInterval, true),
    clearInterval: clear(real.clearInterval),
    setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]): unknown => {
      const host = world.current
      return host === undefined ? real.setImmediate(run, ...args) : host.immediates.push(() => run(...args))
    },
    fetch,
  })
  Date.now = () => EPOCH_MS + Math.floor(world.now)
  performance.now = () => world.now
  Math.random = () => ids.next()
  globalThis.crypto.randomUUID = uuid as typeof real.webUuid
  crypto.randomUUID = uuid as typeof real.uuid
  crypto.randomBytes = (size: number) => Buffer.from(Array.from({ length: size }, () => ids.below(256)))
  crypto.randomFillSync = ((bytes: Uint8Array) =>
    bytes.map((_, at) => (bytes[at] = ids.below(256)))) as typeof real.fill
  syncBuiltinESMExports()

  return () => {
    const { now, performanceNow, random, webUuid, uuid: realUuid, bytes, fill, ...globals } = real
    Object.assign(globalThis, globals)
    Date.now = now
    performance.now = performanceNow
    Math.random = random
    globalThis.crypto.randomUUID = webUuid
    crypto.randomUUID = realUuid
    crypto.randomBytes = bytes
    crypto.randomFillSync = fill
    syncBuiltinESMExports()
  }
}
