/**
 * The calls of a gateway that wait for people, and their questions: a server without tools, with the store, the pages
 * and the lists. A call that waits is a task there, which any gateway with the store continues.
 */
import type {
  AnswerWay,
  DrainOptions,
  NoticeChannel,
  QuestionDesk,
  ServerOptions,
  ServerQuestions,
  Tasks,
} from '../../server/index.ts'
import {
  assembleParts,
  type Call,
  CONTINUE_TOOL,
  type Context,
  type DeferredTool,
  errorDetails,
  isAskable,
  isLaterRound,
  type NodeHandler,
  nodeHandler,
  openListener,
  pathOf,
  refusal,
  send,
  type FetchHandler,
  fetchHandler,
  type ServerParts,
  Shutdown,
  toolEntry,
} from '../../server/internal.ts'
import type { Ledger } from '../../state/stores/index.ts'
import { isObject, type Json, MODERN_VERSION } from '../../protocol/index.ts'
import { type HeldAnswer, type HeldCall, runHeld } from './heldCall.ts'

/**
 * The identity of a call; an approval counts for exactly this. It is stored, and its digest finds the same call again.
 */
export interface HeldInput {
  /** The path of the route. */
  readonly route: string
  /** The tool's name on the route. */
  readonly name: string
  readonly arguments: Json
  readonly server: string
  /** The digest of the tool's definition. */
  readonly definition: string
  /** The digest of the rule that requires an approval; empty without such a rule. */
  readonly rule: string
  /** The session of an anonymous caller, which the server may know it by. */
  readonly session?: string | undefined
}

/** A call that arrives, and may have to wait. */
export interface ArrivingCall {
  readonly input: HeldInput
  readonly held: HeldCall
  /** Whether its results must have structured content. */
  readonly hasOutput: boolean
  readonly answerSeconds: number
}

export interface GatewayQuestionsOptions {
  readonly server: ServerOptions
  readonly store: QuestionStore
  /** The address of `/mcp` as people reach it. @default where the gateway listens */
  readonly url: string | undefined
  /** How people are notified of questions. */
  readonly notify: readonly NoticeChannel[]
  /** Finds the call of a running task. */
  readonly held: (call: Call, input: HeldInput) => Promise<HeldCall>
}

/** Where calls that wait are stored, and where approvals that clients give are counted. */
export interface QuestionStore {
  readonly tasks: Tasks
  readonly ledger: Ledger
  close(): void
}

/** The tool of all tasks, which no client sees. Tickets begin with it. */
const HELD_TOOL = 'gateway_call'

const FORM = {
  method: 'elicitation/create',
  params: { message: '', requestedSchema: { type: 'object', properties: {} } },
} as const

const TEXT = { type: 'string' } as const
const INPUT = {
  type: 'object',
  properties: {
    route: TEXT,
    name: TEXT,
    arguments: { type: 'object' },
    server: TEXT,
    definition: TEXT,
    rule: TEXT,
    session: TEXT,
  },
  required: ['route', 'name', 'arguments', 'server', 'definition', 'rule'],
} as const

export class GatewayQuestions {
  readonly #parts: ServerParts
  readonly #store: QuestionStore
  readonly #clock: () => number
  readonly #shutdown: Shutdown
  readonly #waiting: NonNullable<ServerParts['questionsPart']>['waiting']
  /** The questions, for programs. */
  readonly list: ServerQuestions
  readonly node: NodeHandler
  readonly fetch: FetchHandler
  /** The tool that continues a call, as routes list it. */
  readonly continueTool: Json

  constructor(
    { server, store, url, notify, held }: GatewayQuestionsOptions,
    guards: Parameters<typeof nodeHandler>[1],
  ) {
    const { limits: _, bus: __, ...shared } = server
    const audience = `${server.audience ?? server.name} questions`
    const questions = { ...(url !== undefined && { url }), notify }
    const options = { ...shared, audience, tasks: store.tasks, ledger: store.ledger, legacy: false, questions }
    this.#store = store
    this.#clock = server.clock ?? Date.now
    this.#parts = assembleParts(options, { joinCluster: () => undefined })
    const { questionsPart, questions: list, registry, endpoint } = this.#parts
    if (questionsPart === undefined || list === undefined) throw new TypeError('A gateway with a store has questions.')
    this.#waiting = questionsPart.waiting
    this.list = list
    registry.addTool(
      toolEntry(HELD_TOOL, { description: 'A call.', input: INPUT }, async (args, ctx) => {
        const input = args as HeldInput
        return (await runHeld(ctx, await held(callOfRun(ctx, input), input), this.#clock)) as never
      }),
    )
    this.continueTool = registry.tools.get(CONTINUE_TOOL)?.listed ?? {}
    this.#shutdown = new Shutdown(this.#parts, 'debug')
    this.node = nodeHandler(endpoint, guards)
    this.fetch = fetchHandler(endpoint, guards)
  }

  /** Where a question was answered. */
  async wayOf({ question, by }: HeldAnswer): Promise<AnswerWay | undefined> {
    if (question === undefined) return 'client'
    return by && (await this.list.find(question, by))?.outcome.way
  }

  /** The questions, for the console. */
  get desk(): QuestionDesk | undefined {
    return this.#parts.questionDesk
  }

  /** Whether a path is that of a page. */
  isPage(path: string): boolean {
    return this.#parts.endpoint.pages?.has(path) === true
  }

  /** Opens the store, and continues the calls that were answered meanwhile. */
  open(): void {
    this.#parts.open().catch((error: unknown) => {
      this.#parts.logger.current.error({ err: errorDetails(error) }, NOT_OPENED)
    })
  }

  /** Serves the pages on loopback, for a gateway on standard input and output. */
  async listen(): Promise<void> {
    const { connections, url } = await openListener({ host: '127.0.0.1' }, (req, res) => {
      if (this.isPage(pathOf(req))) this.node(req, res)
      else send(res, NO_PAGE)
    })
    this.#shutdown.addListener(connections)
    this.listensAt(url)
  }

  listensAt(url: string): void {
    this.#parts.questionsPart?.listensAt(url)
  }

  async drain(options: DrainOptions): Promise<void> {
    await this.#shutdown.drain(options)
    this.#store.close()
  }

  /** Whether the forms of a call are answered elsewhere, because its client shows none. */
  static answers(call: Call): boolean {
    return !isAskable(call, FORM)
  }

  /** Runs a call, or returns the outcome of the same earlier call. Returns the text of the result. */
  async run(call: Call, { input, held, hasOutput, answerSeconds }: ArrivingCall): Promise<string> {
    const args = { ...input }
    const asksOthers = held.approval !== undefined
    const waits: DeferredTool = { tool: HELD_TOOL, args, hasOutput, answerSeconds, asksOthers }
    const again = isLaterRound(call) ? undefined : await this.#waiting.again(call, waits)
    if (again !== undefined) return again
    return this.#parts.rounds.run<Json>(call, {
      subject: { name: HELD_TOOL, args },
      invoke: (ctx) => runHeld(ctx, held, this.#clock),
      finish: (result) => result,
      wait: (journal) => this.#waiting.wait(call, waits, journal),
    })
  }

  /** The result of `continue_call`; undefined for a ticket that is not of a gateway. */
  async continued(call: Call, args: unknown): Promise<Json | undefined> {
    const ticket = isObject(args) ? args['ticket'] : undefined
    if (typeof ticket !== 'string' || !ticket.startsWith(`${HELD_TOOL}_`)) return undefined
    return this.#waiting.continued(call, ticket, () => call.channel.cancelled)
  }
}

const NO_PAGE = refusal(404, 'Here are the pages of questions alone.')
const NOT_OPENED = 'The store could not be opened: each call that has to wait for a person tries again, or fails.'

/** The call of a run: of a client without a connection, for the principal who called. */
function callOfRun(ctx: Context, { name, arguments: args, session }: HeldInput): Call {
  const { signal, meta } = ctx
  return {
    id: ctx.taskId ?? '',
    method: 'tools/call',
    params: { name, arguments: args, _meta: meta },
    meta,
    peer: {
      era: 'modern',
      version: MODERN_VERSION,
      client: ctx.client,
      capabilities: {},
      logLevel: undefined,
      session,
      takesInputRequired: true,
    },
    principal: ctx.principal,
    header: undefined,
    channel: {
      notify() {},
      onCancel: (listener) => signal.addEventListener('abort', listener, { once: true }),
      get cancelled() {
        return signal.aborted
      },
    },
  }
}
