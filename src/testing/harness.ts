/** The environment of an exercise: makes instances, which share one ledger and one clock that can be set forward. */
import type { ClientCapabilities } from '@modelcontextprotocol/client'
import type { Json } from '../protocol/index.ts'
import type { Principal, Server, ServerOptions } from '../server/index.ts'
import { DEFAULT_TTL_SECONDS, newKey } from '../state/seal/index.ts'
import { memoryLedger } from '../state/stores/index.ts'
import {
  type PostReply,
  type ExerciseCall,
  paramHeadersOf,
  post,
  type RoundOutcome,
  type RoundMessage,
  type TestClient,
  send,
} from './request.ts'
import { type HandlerActivity, watch, watched } from './recorder.ts'
import { TaskInstances } from './taskInstances.ts'

/** The server options that an exercise sets. Spread them into `createServer` last. */
export type Overrides = Required<
  Pick<ServerOptions, 'keys' | 'ttlSeconds' | 'ledger' | 'maxAsks' | 'clock' | 'watch'>
> &
  Pick<ServerOptions, 'principal' | 'tasks'>

/** Makes one instance of the server under test. */
export type MakeServer = (overrides: Overrides) => Server | Promise<Server>

/** One message, its outcome, and the activity of the handler. */
export interface SentRound extends HandlerActivity {
  readonly message: RoundMessage
  /** The id of the task, if this was a run of one. A run has no message of a client. */
  readonly task?: string
  readonly outcome: RoundOutcome
}

export interface HarnessOptions {
  readonly makeServer: MakeServer
  readonly call: ExerciseCall
  readonly capabilities: ClientCapabilities
  readonly principals: Principals | undefined
  /** Whether the client takes tasks. */
  readonly takesTasks: boolean
  readonly reset: () => void | Promise<void>
}

/** The caller, and another principal who tries to continue the call. */
export interface Principals {
  readonly caller: Principal
  readonly other: Principal
  /** Who answers in place of the caller, by the key of the question. Only a task can wait for them. @default nobody */
  readonly approvers?: Readonly<Record<string, Principal>>
}

interface HarnessSendOptions {
  readonly call?: ExerciseCall
  readonly asOther?: boolean
  readonly late?: boolean
  /** @default those of the exercise */
  readonly capabilities?: ClientCapabilities
}

const WHO = 'x-exercise-principal'

export class Harness {
  readonly keys = newKey()
  /** Those who answer questions, as they are named in requests: the caller first. */
  readonly answerers: readonly string[]
  readonly #options: HarnessOptions
  #ledger = memoryLedger()
  #mirrored: Promise<Record<string, string>> | undefined
  #aheadMs = 0
  #tasks: TaskInstances | undefined

  constructor(options: HarnessOptions) {
    this.#options = options
    this.answerers = ['caller', ...Object.keys(options.principals?.approvers ?? {}).map(approverName)]
  }

  /** The instances, if the client supports tasks. */
  get tasks(): TaskInstances {
    this.#tasks ??= new TaskInstances()
    return this.#tasks
  }

  /** Who answers a question. */
  answererOf(key: string): string {
    const name = approverName(key)
    return this.answerers.includes(name) ? name : 'caller'
  }

  /** Called before each run of the call. A run counts as a separate call, even if its arguments name it. */
  async reset({ losesRuns }: { losesRuns: boolean }): Promise<void> {
    this.#ledger = memoryLedger()
    if (this.#options.takesTasks) await this.tasks.renewStore(losesRuns)
    await this.#options.reset()
  }

  async close(): Promise<void> {
    await this.#tasks?.close()
  }

  /** A new server. */
  async instance(keys = this.keys): Promise<Server> {
    const { makeServer, principals, takesTasks } = this.#options
    const server = await makeServer({
      keys,
      watch,
      ttlSeconds: DEFAULT_TTL_SECONDS,
      maxAsks: 5,
      ledger: this.#ledger,
      clock: () => Date.now() + this.#aheadMs,
      ...(principals !== undefined && {
        principal: ({ header }) => principalNamed(header(WHO), principals),
      }),
      ...(takesTasks && { tasks: this.tasks.tasks() }),
    })
    if (takesTasks) this.tasks.add(server)
    return server
  }

  async send(server: Server, message: RoundMessage, options: HarnessSendOptions = {}): Promise<SentRound> {
    const { call = this.#options.call, asOther = false, late = false, capabilities } = options
    const known = await this.#client(server, asOther ? 'other' : 'caller')
    const client = capabilities === undefined ? known : { ...known, capabilities }
    this.#aheadMs = late ? (DEFAULT_TTL_SECONDS + 60) * 1000 : 0
    const { value, activity } = await watched(() => send(server, call, message, client))
    this.#aheadMs = 0
    await clockTick()
    return { message, outcome: value, ...activity }
  }

  /** Sends a request that is no round of the call. */
  async request(server: Server, method: string, params: Json, who: string): Promise<PostReply> {
    return post(server, method, params, await this.#client(server, who))
  }

  async #client(server: Server, name: string): Promise<TestClient> {
    const { call, capabilities } = this.#options
    const who = { [WHO]: encodeURIComponent(name) }
    this.#mirrored ??= paramHeadersOf(server, call, { capabilities, headers: who })
    return { capabilities, headers: { ...(await this.#mirrored), ...who } }
  }
}

function approverName(key: string): string {
  return `approver ${key}`
}

function principalNamed(name: string | null | undefined, { caller, other, approvers = {} }: Principals): Principal {
  const approver = Object.entries(approvers).find(([key]) => encodeURIComponent(approverName(key)) === name)
  return approver?.[1] ?? (name === 'other' ? other : caller)
}

/** Waits until Date.now() has changed, so that a handler which depends on the time behaves differently. */
async function clockTick(): Promise<void> {
  const now = Date.now()
  while (Date.now() === now) await new Promise((resolve) => setTimeout(resolve, 1))
}
