/** What the probe says about one server: by each method alone, by all of them, and where no server is known by name. */
import { type KnownServer, type Method, probe, type ProbeOptions, type State, type Verdict } from 'pannier/probe'
import type { Configuration } from './configuration.ts'
import { type Server, whileRunning } from './serverProcess.ts'
import { contradiction } from './groundTruth.ts'

/** The methods, each by itself; all of them; and all of them where no server is known by its name. */
export const WAYS = ['sequential', 'capabilities', 'metadata', 'combined', 'nameless'] as const

export type Way = (typeof WAYS)[number]

export interface Said {
  readonly state: State
  readonly by: string
  readonly ms: number
}

export interface Judged {
  readonly configuration: Configuration
  readonly said: Readonly<Record<Way, Said>>
  /** HTTP requests of the combination; 0 for a program. */
  readonly requests: number
  /** What is wrong, as sentences. */
  readonly faults: readonly string[]
}

/** Servers start slowly on a machine that does something else. */
const TIMEOUT_MS = 30_000
export function judge(configuration: Configuration): Promise<Judged> {
  return whileRunning(configuration.launch, async (server) => {
    const ask = (options: ProbeOptions = {}): Promise<Verdict> =>
      probe(targetOf(server), { timeoutMs: TIMEOUT_MS, ...options })
    const alone = async (method: Method): Promise<Said> => saidBy(await ask({ methods: [method] }), method)
    const sequential = await alone('sequential')
    const capabilities = await alone('capabilities')
    const metadata = await alone('metadata')
    const verdict = await ask()
    const again = await ask()
    const nameless = verdict.decidedBy === 'metadata' ? await ask({ known: [nothingAbout(server)] }) : again
    const said = { sequential, capabilities, metadata, combined: saidBy(verdict), nameless: saidBy(nameless) }
    const shown = await shownBy(server, configuration)
    const faults = faultsOf(configuration, verdict, again, shown)
    return { configuration, said, requests: verdict.requests, faults }
  })
}

/** Comes before what is known of the server by its name. */
function nothingAbout(server: Server): KnownServer {
  return { match: 'program' in server ? server.program.command : server.url, state: 'UNKNOWN', confidence: 0 }
}

/** A program is started anew by whoever asks; of a server over HTTP another instance is. */
function shownBy(server: Server, configuration: Configuration): Promise<string | undefined> {
  if ('program' in server) return contradiction({ server, fresh: server }, configuration)
  return whileRunning(configuration.launch, (fresh) => contradiction({ server, fresh }, configuration))
}

function targetOf(server: Server): Parameters<typeof probe>[0] {
  if ('program' in server) return server.program
  return { url: server.url, headers: server.headers }
}

/** The score is never used alone, so that its verdict is UNKNOWN; what counts here is what it would have said. */
function saidBy({ methods, state, decidedBy, durationMs }: Verdict, method?: Method): Said {
  return { state: (method && methods[method]?.state) ?? state, by: decidedBy, ms: durationMs }
}

function faultsOf({ truth }: Configuration, first: Verdict, second: Verdict, shown: string | undefined): string[] {
  return [
    ...(first.state === truth ? [] : [`It is ${truth}, but found to be ${first.state}. ${first.message}`]),
    ...(first.state === second.state ? [] : [`Asked again, it is found to be ${second.state}. ${second.message}`]),
    ...(first.requests > 8 ? [`It got ${first.requests} requests.`] : []),
    ...(shown === undefined ? [] : [`It does not show that it is ${truth}: ${shown}`]),
  ]
}
