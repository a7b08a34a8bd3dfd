/** Gateways that are stopped (SIGTERM) and started again, one after the other, behind a plain balancer, and their calls. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { newKey } from 'pannier/state'
import type { Until } from '../fixtures/until.ts'
import { quickStart } from '../bundle/environment.ts'
import { TABLE } from '../gateway/fixtures/table.ts'
import { newPort } from '../matrix/fleet/ports.ts'
import { kill, readUntil, start } from '../matrix/fleet/processes.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type CallCounts, callUntil, serversOf } from './rollingCalls.ts'

export interface RollingPlan {
  readonly gateways: number
  /** More of the command line of each. */
  readonly args?: readonly string[]
  /** How many gateways are stopped; each is started again before the next one is stopped. */
  readonly stops: number
  /** How many clients of each kind call each server at the same time. */
  readonly atOnce: number
  /** How the balancer learns that a gateway is being stopped: by nothing, by /health, or by a status 503. */
  readonly balancer: 'plain' | 'checks' | 'retries'
  /** Programs of different versions, which gateways run by turns. @default that of this version */
  readonly programs?: readonly string[]
  readonly until: Until
}

export interface RollingOutcome extends CallCounts {
  /** Calls that began twice. */
  doubled: number
  stops: number
  /** Requests that were refused because their calls are gone. */
  gone: number
  /** How long each gateway took to end when it was told to, and when it said that it was drained, in milliseconds. */
  readonly stopMs: number[]
  readonly lingeredMs: number[]
}

interface RollingGateway {
  readonly url: string
  readonly health: string
  start(): Promise<void>
  /** Resolves when it has ended. */
  stop(): Promise<void>
}

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const CHECK_EVERY_MS = 100
const BETWEEN_STOPS_MS = 300

export async function rollUnderLoad(plan: RollingPlan): Promise<RollingOutcome> {
  const { until } = plan
  const folder = mkdtempSync(join(tmpdir(), 'pannier-rolling-'))
  until(() => rmSync(folder, { recursive: true, force: true }))
  const effects = join(folder, 'effects')
  const file = join(folder, 'mcp.json')
  process.env['EFFECTS'] = effects
  writeFileSync(effects, '')
  writeFileSync(file, JSON.stringify({ mcpServers: await serversOf(until, effects) }))
  const counts = { calls: 0, failed: 0, doubled: 0, stops: 0, gone: 0, reasons: new Map<string, number>() }
  const outcome: RollingOutcome = { ...counts, stopMs: [], lingeredMs: [] }
  const balancer = await startBalancer({ passesOver503: plan.balancer === 'retries' })
  until(() => balancer.close())
  balancer.onReply = (status) => void (status === 410 && outcome.gone++)
  const gateways = await gatewaysOf(plan, file, outcome)
  await Promise.all(gateways.map((gateway) => gateway.start()))
  balancer.targets = gateways.map(({ url }) => url)
  if (plan.balancer === 'checks') checkHealth(balancer, gateways, until)

  let isOver = false
  const calling = callUntil(() => isOver, { url: balancer.url, atOnce: plan.atOnce, counts: outcome })
  for (let turn = 0; turn < plan.stops; turn++) {
    await sleep(BETWEEN_STOPS_MS)
    const gateway = gateways[turn % plan.gateways]
    await gateway?.stop()
    await gateway?.start()
    outcome.stops++
  }
  isOver = true
  await calling
  const begun = readFileSync(effects, 'utf8').split('\n').filter(Boolean)
  outcome.doubled = begun.length - new Set(begun).size
  return outcome
}

/** They know each other from the start, and share their keys. */
async function gatewaysOf(plan: RollingPlan, file: string, outcome: RollingOutcome): Promise<RollingGateway[]> {
  const places = await Promise.all(
    Array.from({ length: plan.gateways }, async () => ({ port: await newPort(), adminPort: await newPort() })),
  )
  const { PATH = '' } = process.env
  const env = {
    PATH,
    ...quickStart,
    PANNIER_KEYS: newKey(),
    PANNIER_LOG_LEVEL: 'info',
    PANNIER_PEERS: places.map(({ port }) => `http://127.0.0.1:${port}`).join(','),
  }
  const { programs = [MAIN] } = plan
  let started = 0
  return places.map(({ port, adminPort }) => {
    const options = ['gateway', file, '--port', `${port}`, '--admin-port', `${adminPort}`, ...(plan.args ?? [])]
    let stop = async (): Promise<void> => {}
    return {
      url: `http://127.0.0.1:${port}/mcp`,
      health: `http://127.0.0.1:${adminPort}/health`,
      start: async () => {
        const main = programs[started++ % programs.length] ?? MAIN
        const args = ['--conditions=pannier-source', main, ...options]
        const child = start(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
        plan.until(() => kill(child))
        let drainedAt = Number.NaN
        child.stderr?.on('data', (chunk: Buffer) => {
          if (chunk.includes('"Drained."')) drainedAt = performance.now()
        })
        await readUntil(child.stderr, (said) => TABLE.test(said) || undefined)
        stop = async () => {
          const since = performance.now()
          const ended = once(child, 'exit')
          child.kill('SIGTERM')
          await ended
          outcome.stopMs.push(Math.round(performance.now() - since))
          outcome.lingeredMs.push(Math.round(performance.now() - drainedAt))
        }
      },
      stop: () => stop(),
    }
  })
}

/** As a balancer with active health checks: a gateway whose /health is not 200 gets no requests. */
function checkHealth(balancer: Balancer, gateways: readonly RollingGateway[], until: Until): void {
  const isReady = ({ health }: RollingGateway): Promise<boolean> =>
    fetch(health).then(
      ({ ok }) => ok,
      () => false,
    )
  const check = async (): Promise<void> => {
    const ready = await Promise.all(gateways.map(isReady))
    balancer.targets = gateways.filter((_, at) => ready[at]).map(({ url }) => url)
  }
  const timer = setInterval(() => void check(), CHECK_EVERY_MS)
  until(() => clearInterval(timer))
}
