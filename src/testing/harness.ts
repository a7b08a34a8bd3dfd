/** The environment of an exercise: makes instances, which share one ledger and one clock that can be set forward. */
import type { ClientCapabilities } from '@modelcontextprotocol/client'
import type { Principal, Server, ServerOptions } from '../server/index.ts'
import { DEFAULT_TTL_SECONDS, newKey } from '../state/seal/index.ts'
import { memoryLedger } from '../state/stores/index.ts'
import {
  type ExerciseCall,
  paramHeadersOf,
  type RoundOutcome,
  type RoundMessage,
  type TestClient,
  send,
} from './request.ts'
import { type HandlerActivity, watch, watched } from './recorder.ts'

/** The options of a server that an exercise sets. Spread them into `createServer` last. */
export type Overrides = Required<
  Pick<ServerOptions, 'keys' | 'ttlSeconds' | 'ledger' | 'maxAsks' | 'clock' | 'watch'>
> &
  Pick<ServerOptions, 'principal'>

export type MakeServer = (overrides: Overrides) => Server | Promise<Server>

/** One message, its outcome, and what the handler did. */
export interface SentRound extends HandlerActivity {
  readonly message: RoundMessage
  readonly outcome: RoundOutcome
}

export interface HarnessOptions {
  readonly makeServer: MakeServer
  readonly call: ExerciseCall
  readonly capabilities: ClientCapabilities
  readonly principals: Principals | undefined
  readonly reset: () => void | Promise<void>
}

/** The caller, and another principal who tries to continue the call. */
export interface Principals {
  readonly caller: Principal
  readonly other: Principal
}

interface HarnessSendOptions {
  readonly call?: ExerciseCall
  readonly asOther?: boolean
  readonly late?: boolean
}

const WHO = 'x-exercise-principal'

export class Harness {
  readonly keys = newKey()
  readonly #options: HarnessOptions
  #ledger = memoryLedger()
  #mirrored: Promise<Record<string, string>> | undefined
  #aheadMs = 0

  constructor(options: HarnessOptions) {
    this.#options = options
  }

  /** Called before each run of the call. A run is a call of its own, also where its arguments name it. */
  async reset(): Promise<void> {
    this.#ledger = memoryLedger()
    await this.#options.reset()
  }

  /** A new server. */
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

  async send(server: Server, message: RoundMessage, options: HarnessSendOptions = {}): Promise<SentRound> {
    const { call = this.#options.call, asOther = false, late = false } = options
    const client = await this.#client(server, asOther)
    this.#aheadMs = late ? (DEFAULT_TTL_SECONDS + 60) * 1000 : 0
    const { value, activity } = await watched(() => send(server, call, message, client))
    this.#aheadMs = 0
    await clockTick()
    return { message, outcome: value, ...activity }
  }

  async #client(server: Server, asOther: boolean): Promise<TestClient> {
    const { call, capabilities } = this.#options
    const who = { [WHO]: asOther ? 'other' : 'caller' }
    this.#mirrored ??= paramHeadersOf(server, call, { capabilities, headers: who })
    return { capabilities, headers: { ...(await this.#mirrored), ...who } }
  }
}

/** Waits until Date.now() has changed, so that a handler which depends on the time behaves differently. */
async function clockTick(): Promise<void> {
  const now = Date.now()
  while (Date.now() === now) await new Promise((resolve) => setTimeout(resolve, 1))
}
