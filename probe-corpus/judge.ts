/**
 * The probe's judgements of one server: by each method alone, by the combination, and without the list of known
 * servers.
 */
import { basename } from 'node:path'
import { type KnownServer, type Method, probe, type ProbeOptions, type State, type Verdict } from 'pannier/probe'
import type { Configuration } from './configuration.ts'
import { type Server, withServer } from './serverProcess.ts'
import { contradiction } from './groundTruth.ts'

/** Each method alone; the documented combination; the verdict; and the verdict without the list of known servers. */
export const APPROACHES = [
  'sequential',
  'capabilities',
  'metadata',
  'tools',
  'program',
  'documented',
  'combined',
  'nameless',
] as const

export type Approach = (typeof APPROACHES)[number]

export interface Judgement {
  readonly state: State
  readonly by: string
  readonly confidence: number
  readonly ms: number
}

export interface JudgedServer {
  readonly configuration: Configuration
  readonly judgements: Readonly<Record<Approach, Judgement>>
  /** HTTP requests of the combination; 0 for a program. */
  readonly requests: number
  /** What is wrong, as sentences. */
  readonly faults: readonly string[]
}

/** Long, because servers start slowly on a busy machine. */
const TIMEOUT_MS = 30_000

export function judge(configuration: Configuration): Promise<JudgedServer> {
  return withServer(configuration.launch, async (server) => {
    const ask = (options: ProbeOptions = {}): Promise<Verdict> =>
      probe(targetOf(server), { timeoutMs: TIMEOUT_MS, ...options })
    const alone = async (method: Method): Promise<Judgement> => judgementOf(await ask({ methods: [method] }), method)
    const sequential = await alone('sequential')
    const capabilities = await alone('capabilities')
    const metadata = await alone('metadata')
    const tools = await alone('tools')
    const program = await alone('program')
    const documented = judgementOf(await ask({ order: 'documented' }))
    const verdict = await ask()
    const again = await ask()
    const nameless = verdict.decidedBy === 'metadata' ? await ask({ known: [unknownServer(server)] }) : again
    const judgements = {
      sequential,
      capabilities,
      metadata,
      tools,
      program,
      documented,
      combined: judgementOf(verdict),
      nameless: judgementOf(nameless),
    }
    const contradicted = await checkTruth(server, configuration)
    const faults = faultsOf(configuration, verdict, again, contradicted)
    return { configuration, judgements, requests: verdict.requests, faults }
  })
}

/** An entry that overrides what the list of known servers says about this server. */
function unknownServer(server: Server): KnownServer {
  const match = 'program' in server ? basename(server.program.command) : new URL(server.url).hostname
  return { match, state: 'UNKNOWN', confidence: 0 }
}

/** A program is started anew by each client; of a server over HTTP a second instance is started. */
function checkTruth(server: Server, configuration: Configuration): Promise<string | undefined> {
  if ('program' in server) return contradiction({ server, fresh: server }, configuration)
  return withServer(configuration.launch, (fresh) => contradiction({ server, fresh }, configuration))
}

function targetOf(server: Server): Parameters<typeof probe>[0] {
  if ('program' in server) return server.program
  return { url: server.url, headers: server.headers }
}

/** The capability score never decides alone, so its verdict is UNKNOWN; here its own result counts. */
function judgementOf({ methods, state, confidence, decidedBy, durationMs }: Verdict, method?: Method): Judgement {
  return { state: (method && methods[method]?.state) ?? state, by: decidedBy, confidence, ms: durationMs }
}

function faultsOf(
  { truth }: Configuration,
  first: Verdict,
  second: Verdict,
  contradicted: string | undefined,
): string[] {
  return [
    ...(first.state === truth ? [] : [`It is ${truth}, but found to be ${first.state}. ${first.message}`]),
    ...(first.state === second.state ? [] : [`Asked again, it is found to be ${second.state}. ${second.message}`]),
    ...(first.requests > 8 ? [`It got ${first.requests} requests.`] : []),
    ...(contradicted === undefined ? [] : [`It does not show that it is ${truth}: ${contradicted}`]),
  ]
}
