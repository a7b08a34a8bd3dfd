/** Probes in the background whether a server keeps state between calls, every hour. */
import { isDeepStrictEqual } from 'node:util'
import type { Implementation } from '@modelcontextprotocol/client'
import type { Address } from '../../client/index.ts'
import { probe, type Verdict } from '../../probe/index.ts'
import { sleep } from '../../protocol/index.ts'
import type { Logger } from '../../server/internal.ts'
import type { BackendConfig } from '../config/index.ts'
import type { Link } from '../links/link.ts'

export interface BackgroundProberOptions {
  readonly server: string
  /** The address to probe, with current credentials. */
  readonly address: () => Promise<Address>
  readonly logger: () => Logger
  readonly onVerdict: () => void
}

const HOUR_MS = 3_600_000
/** Retry after the first probe without a verdict. */
const SOON_MS = 30_000
/** Minimum time between two probes caused by doubts. */
const DOUBTED_MS = 1000

const STATEFUL =
  'A server keeps something between calls, so each caller has a process or a session of their own there, which is lost when the gateway or the server ends. A client that must not lose it connects to the server directly.'
const UNKNOWN =
  'A probe could not tell whether a server keeps something between calls. It is repeated; "state" in the entry of the server decides it.'

/** Pause until the next probe: exponential backoff after probes without a verdict. */
export function pauseAfter(failures: number): number {
  return failures === 0 ? HOUR_MS : Math.min(HOUR_MS, SOON_MS * 2 ** Math.min(failures - 1, 10))
}

/** Pause before a verdict can be doubted again: exponential backoff for a server that keeps contradicting itself. */
export function pauseAfterDoubts(needless: number): number {
  return Math.min(HOUR_MS, DOUBTED_MS * 2 ** Math.min(needless, 20))
}

export class BackgroundProber {
  verdict: Verdict | undefined
  readonly #options: BackgroundProberOptions
  readonly #first = Promise.withResolvers<void>()
  /** Resolves when there is a verdict, or none can be reached now. */
  readonly judged = this.#first.promise
  #onDoubt: () => void = () => {}
  #isRunning = false
  #isDoubted = false
  #version: string | undefined
  /** The last logged verdict. */
  #reported: Verdict['state'] | undefined

  constructor(options: BackgroundProberOptions) {
    this.#options = options
  }

  /** The age of the verdict, in seconds; undefined if there is none. */
  get ageSeconds(): number | undefined {
    return this.verdict === undefined ? undefined : Math.round((Date.now() - this.verdict.checkedAt) / 1000)
  }

  /** Probes a server after the first attempt to reach it, unless its entry declares its state. */
  async start(declared: BackendConfig['settings']['state'], tried: Promise<void>, signal: AbortSignal): Promise<void> {
    if (declared === 'auto') return tried.then(() => this.run(signal))
    if (declared === 'stateful') this.#report({ state: 'STATEFUL', confidence: 1, message: 'Its entry says so.' })
    return this.skip()
  }

  /** Probes until the signal aborts: every hour, and soon after the verdict was doubted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true
    let needless = 0
    for (let failures = 0; !signal.aborted; ) {
      const doubted = Promise.withResolvers<void>()
      this.#onDoubt = doubted.resolve
      const before = this.verdict?.state
      const wasDoubted = this.#isDoubted
      this.#isDoubted = false
      const found = await this.#probe(signal)
      if (signal.aborted) return
      const isKnown = 'checkedAt' in found && found.state !== 'UNKNOWN'
      if (isKnown) this.verdict = found
      this.#report(found)
      needless = wasDoubted && this.verdict?.state === before ? needless + 1 : 0
      failures = isKnown ? 0 : failures + 1
      this.#first.resolve()
      this.#options.onVerdict()
      const over = new AbortController()
      const pause = sleep(pauseAfter(failures), AbortSignal.any([signal, over.signal])).catch(() => {})
      await Promise.race([pause, doubted.promise])
      over.abort()
      await sleep(pauseAfterDoubts(needless), signal).catch(() => {})
    }
  }

  /** Requests another probe, because something contradicts the verdict. Returns false if one is already requested. */
  doubt(): boolean {
    if (this.#isDoubted) return false
    this.#isDoubted = this.#isRunning
    this.#onDoubt()
    return true
  }

  /** Doubts the verdict when the server's version changes: the new one may keep state. */
  sawVersion(info: Implementation | undefined): void {
    const version = JSON.stringify([info?.name, info?.version])
    if (this.#version !== undefined && this.#version !== version) this.doubt()
    this.#version = version
  }

  async #probe(signal: AbortSignal): Promise<Verdict | FailedProbe> {
    try {
      // Reading program files would block the thread, and a guess from them is not enough to share a process.
      return await probe(await this.#options.address(), { signal, checks: 'none', program: false })
    } catch (error) {
      return { state: 'UNKNOWN', confidence: 0, message: (error as Error).message }
    }
  }

  /** Resolves `judged` without a verdict. */
  skip(): void {
    this.#first.resolve()
  }

  /** Logs a verdict that differs from the last one. */
  #report({ state, confidence, message: why }: Pick<Verdict, 'state' | 'confidence' | 'message'>): void {
    if (this.#reported === state) return
    this.#reported = state
    const { server, logger } = this.#options
    const details = { server, state, confidence, why }
    if (state === 'STATELESS') logger().info(details, 'A server was probed.')
    else logger().warn(details, state === 'STATEFUL' ? STATEFUL : UNKNOWN)
  }
}

type FailedProbe = Pick<Verdict, 'state' | 'confidence' | 'message'>

/** A server's description of itself and its session, as of the opening of a link. */
export type LinkFacts = Pick<Link, 'era' | 'hasSession' | 'about'>

/** Whether two links contradict each other, as those from before and after an upgrade of the server do. */
export function contradict(one: LinkFacts, other: LinkFacts): boolean {
  return !isDeepStrictEqual(judgedBy(one), judgedBy(other))
}

function judgedBy({ era, hasSession, about }: LinkFacts): object {
  const { name, version, architecture } = (about.info ?? {}) as Partial<Record<string, unknown>>
  return { era, hasSession, name, version, architecture, session: about.capabilities['session'] }
}
