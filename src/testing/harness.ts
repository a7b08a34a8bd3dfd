/** Where an exercise plays: instances made when needed, one clock that can be put forward, one ledger for them all. */
import type { ClientCapabilities } from '@modelcontextprotocol/client'
import type { Principal, Server, ServerOptions } from '../server/index.ts'
import { DEFAULT_TTL_SECONDS, newKey } from '../state/seal/index.ts'
import { memoryLedger } from '../state/stores/index.ts'
import {
  type ExerciseCall,
  mirroredHeaders,
  type RoundOutcome,
  type RoundMessage,
  type TestClient,
  send,
} from './request.ts'
import { type HandlerActivity, watch, watched } from './recorder.ts'

/** What an exercise decides about a server. Spread it into `createServer` last. */
export type Overrides = Required<
  Pick<ServerOptions, 'keys' | 'ttlSeconds' | 'ledger' | 'maxAsks' | 'clock' | 'watch'>
> &
  Pick<ServerOptions, 'principal'>

export type MakeServer = (overrides: Overrides) => Server | Promise<Server>

/** One message, what came back, and what it made the handler do. */
export interface SentRound extends HandlerActivity {
  readonly message: RoundMessage
  readonly outcome: RoundOutcome
}

export interface StageOptions {
  readonly makeServer: MakeServer
  readonly call: ExerciseCall
  readonly capabilities: ClientCapabilities
  readonly principals: Principals | undefined
  readonly reset: () => void | Promise<void>
}

/** Who calls, and who else tries to go on with the call. */
export interface Principals {
  readonly caller: Principal
  readonly other: Principal
}

interface StageSendOptions {
  readonly call?: ExerciseCall
  readonly asOther?: boolean
  readonly late?: boolean
}

const WHO = 'x-exercise-principal'

export class Stage {
  readonly keys = newKey()
  readonly #options: StageOptions
  readonly #ledger = memoryLedger()
  #mirrored: Promise<Record<string, string>> | undefined
  #aheadMs = 0

  constructor(options: StageOptions) {
    this.#options = options
  }

  /** Puts the world back, before a run starts. */
  async reset(): Promise<void> {
    await this.#options.reset()
  }

  /** A server that has served nothing yet. */
  async instance(keys = this.keys): Promise<Server> {
    const { makeServer, principals } = this.#options
    return makeServer({
      keys,
      watch,
      ttlSeconds: DEFAULT_TTL_SECONDS,
      maxAsks: 5,
      ledger: this.#ledger,
      clock: () => Date.now() + this.#aheadMs,
      ...(principals !== undefined && {
        principal: ({ header }) => (header(WHO) === 'other' ? principals.other : principals.caller),
      }),
    })
  }

  async send(server: Server, message: RoundMessage, options: StageSendOptions = {}): Promise<SentRound> {
    const { call = this.#options.call, asOther = false, late = false } = options
    const sender = await this.#sender(server, asOther)
    this.#aheadMs = late ? (DEFAULT_TTL_SECONDS + 60) * 1000 : 0
    const { value, seen } = await watched(() => send(server, call, message, sender))
    this.#aheadMs = 0
    await clockTick()
    const { steps, bare, late: lateEffects, effects } = seen
    return { message, outcome: value, steps, bare, late: lateEffects, effects }
  }

  async #sender(server: Server, asOther: boolean): Promise<TestClient> {
    const { call, capabilities } = this.#options
    const who = { [WHO]: asOther ? 'other' : 'caller' }
    this.#mirrored ??= mirroredHeaders(server, call, { capabilities, headers: who })
    return { capabilities, headers: { ...(await this.#mirrored), ...who } }
  }
}

/** Waits until the time has changed, so that a handler which looks at it is told another one. */
async function clockTick(): Promise<void> {
  const now = Date.now()
  while (Date.now() === now) await new Promise((resolve) => setTimeout(resolve, 1))
}
