/** Runs one client at one place: starts the server there, the client's process beside it, and ends both. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { endGroup, startGroup } from 'pannier/client'
import { newKey } from 'pannier/state'
import { startRoundRobin } from '../conformance/roundRobin.ts'
import { WHATS } from './checks.ts'
import type { Place, Target } from './driver.ts'
import type { Leg, LegResult, Outcome } from './outcome.ts'
import { clientFolder } from './packages.ts'
import { eventsIn } from './server/events.ts'

const LEG_MS = 300_000
const START_MS = 30_000
const GRACE_MS = 500
const LAST_CHARACTERS = 400

const DRIVE = join(import.meta.dirname, 'drive.ts')
const CONDITION = '--conditions=pannier-source'

/** `server`: the file that starts the server. */
export async function runLeg(leg: Leg, server: string): Promise<LegResult> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-interop-'))
  const eventsFile = join(folder, 'events.jsonl')
  try {
    const outcomes = await withServer({ place: leg.place, server, folder }, (target) =>
      drive(leg, target, folder, eventsFile),
    )
    const call = eventsIn(eventsFile).find((event) => event.kind === 'call')
    const spoke = call && (call.era === 'modern' ? 'stateless' : 'session')
    return { ...leg, spoke, outcomes: withMissing(outcomes) }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** A check that did not run has not passed. */
function withMissing(outcomes: readonly Outcome[]): readonly Outcome[] {
  const last = outcomes.find(({ works }) => !works)
  const saw = last?.what === 'connect' && !last.works ? last.saw : 'The process of the client ended before.'
  return WHATS.map((what) => outcomes.find((outcome) => outcome.what === what) ?? { what, works: false, saw })
}

async function drive(leg: Leg, target: Target, home: string, eventsFile: string): Promise<readonly Outcome[]> {
  const driver = join(clientFolder(leg.client), 'driver.js')
  const args = [CONDITION, DRIVE, driver, JSON.stringify(target), eventsFile, ...(leg.era ? [leg.era] : [])]
  const child = startGroup(process.execPath, args, {
    cwd: home,
    env: environment(home),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const output = lastOutput(child)
  const outcomes: Outcome[] = []
  child.on('message', (outcome) => void outcomes.push(outcome as Outcome))
  const limit = AbortSignal.timeout(LEG_MS)
  await once(child, 'exit', { signal: limit }).catch(() => {})
  await endGroup(child, GRACE_MS)
  if (outcomes.length > 0) return outcomes
  return [{ what: 'connect', works: false, saw: `Its process ended early: ${output()}` }]
}

interface ServerPlace {
  readonly place: Place
  readonly server: string
  readonly folder: string
}

/** Calls `use` while the server runs, then ends it. A program on stdio is started by the client. */
async function withServer<T>({ place, server, folder }: ServerPlace, use: (target: Target) => Promise<T>): Promise<T> {
  if (place === 'stdio') return use({ command: process.execPath, args: [server, folder, 'stdio'] })
  const env = { ...environment(folder), PANNIER_KEYS: newKey() }
  const count = place === 'two' ? 2 : 1
  const children = Array.from({ length: count }, () =>
    startGroup(process.execPath, [server, folder, 'http'], { env, stdio: ['ignore', 'pipe', 'pipe'] }),
  )
  try {
    const urls = await Promise.all(children.map(addressOf))
    if (place === 'http') return await use({ url: urls[0] as string })
    const balancer = await startRoundRobin(urls)
    try {
      const result = await use({ url: balancer.url })
      if (balancer.served.includes(0)) throw new Error('An instance got no request, so nothing was tried between them.')
      return result
    } finally {
      balancer.stop()
    }
  } finally {
    await Promise.all(children.map((child) => endGroup(child, GRACE_MS)))
  }
}

/** The address is the first line that the server writes. */
async function addressOf(child: ChildProcess): Promise<string> {
  const output = lastOutput(child)
  if (child.stdout === null) throw new Error('The server has no output.')
  const lines = createInterface({ input: child.stdout })
  try {
    const [line] = (await once(lines, 'line', { signal: AbortSignal.timeout(START_MS) })) as [string]
    return line
  } catch (error) {
    throw new Error(`The server does not start: ${output()}`, { cause: error })
  }
}

function lastOutput(child: ChildProcess): () => string {
  let output = ''
  const collect = (chunk: Buffer): void => void (output = `${output}${chunk.toString()}`.slice(-LAST_CHARACTERS))
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', collect)
  return () => output.replaceAll(/\s+/g, ' ').trim()
}

/** The same for every run. The home folder is one that is removed afterwards. */
function environment(home: string): Record<string, string> {
  const { PATH = '' } = process.env
  return { PATH, HOME: home, PANNIER_LOG_LEVEL: 'silent', DO_NOT_TRACK: '1', NO_COLOR: '1' }
}
