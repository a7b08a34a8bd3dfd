/**
 * What one process knows and does for the console. Any process of the gateway answers for all: the items of some topics are those of
 * each process, which the others are asked for as members of the cluster.
 */
import { errorDetails, isObject, type Json, ProtocolError, settledWithin } from '../../../protocol/index.ts'
import type { ClusterScope } from '../../../cluster/index.ts'
import type { Logger } from '../../../server/internal.ts'
import { mayDo } from './access.ts'
import type { ConsoleRole } from '../../consoleRole.ts'
import type { ConsoleLogin } from './login.ts'
import { RefusedError } from './refused.ts'
import type { ConsoleReply, ConsoleRequest, TopicItems, ConsoleViewer } from './types.ts'

/** What a page shows. */
export interface ConsoleTopic {
  /** Whether each process has its own items; their keys then begin with the id of the process and a slash. @default false */
  readonly isOfEach?: boolean
  readonly read: (query: Readonly<Record<string, string>>, viewer: ConsoleViewer) => TopicItems | Promise<TopicItems>
}

/** What a page changes. */
export interface ConsoleAction {
  readonly role: ConsoleRole
  /** What the audit log says that was changed. Never a value. */
  readonly subject: (params: Json) => string
  readonly run: (params: Json, viewer: ConsoleViewer) => Promise<Json>
}

export interface ConsoleDeskOptions {
  readonly topics: Readonly<Record<string, ConsoleTopic>>
  readonly actions: Readonly<Record<string, ConsoleAction>>
  /** The scope in which processes ask each other. */
  readonly scope: () => ClusterScope
  readonly logger: () => Logger
  /** Absent where people do not log in. */
  readonly login: ConsoleLogin | undefined
  /** Records a change, or that one was refused. */
  readonly changed: (change: ConsoleChange) => void
}

export interface ConsoleChange {
  readonly action: string
  readonly subject: string
  readonly viewer: ConsoleViewer
  readonly outcome: 'done' | 'refused' | 'failed'
}

const MESSAGE = 'console'
/** How long the other processes have for their items. */
const OTHERS_MS = 2000

export class ConsoleDesk {
  readonly #options: ConsoleDeskOptions

  constructor(options: ConsoleDeskOptions) {
    this.#options = options
  }

  /** Answers the other processes. */
  serve(): void {
    this.#options.scope().handle(MESSAGE, async ({ topic, query, viewer }) => {
      const items = await this.#own(
        String(topic),
        query as Readonly<Record<string, string>>,
        viewer as ConsoleViewer & Json,
      )
      return { status: 200, body: JSON.stringify(items) }
    })
  }

  readonly ask = async (request: ConsoleRequest): Promise<ConsoleReply> => {
    try {
      return { value: await this.#value(request) }
    } catch (error) {
      if (error instanceof RefusedError) return { refused: error.refusal }
      this.#options.logger().error({ err: errorDetails(error) }, 'The console could not be answered.')
      return { refused: { status: 500, error: 'This failed. The log of the gateway says why.' } }
    }
  }

  #value(request: ConsoleRequest): Promise<Json> {
    switch (request.kind) {
      case 'read':
        return this.#read(request)
      case 'act':
        return this.#act(request)
      case 'login':
        if (this.#options.login !== undefined) return this.#options.login.answer(request)
        throw new RefusedError(404, 'Nobody can log in here.')
      default:
        return request satisfies never
    }
  }

  async #read({ topic, query, viewer }: ConsoleRequest & { kind: 'read' }): Promise<Json> {
    const own = await this.#own(topic, query, viewer)
    if (this.#options.topics[topic]?.isOfEach !== true) return own
    const scope = this.#options.scope()
    const others: Json[] = []
    const asked = scope.members.known().map(async (member) => {
      const forwarded = await scope.forward(member, { kind: MESSAGE, topic, query, viewer })
      const items: unknown = forwarded.kind === 'answered' ? await forwarded.response.json() : undefined
      if (isObject(items)) others.push(items)
    })
    await settledWithin(Promise.allSettled(asked), OTHERS_MS)
    return Object.assign({}, own, ...others) as Json
  }

  async #own(name: string, query: Readonly<Record<string, string>>, viewer: ConsoleViewer): Promise<TopicItems> {
    const { topics, scope } = this.#options
    const topic = Object.hasOwn(topics, name) ? topics[name] : undefined
    if (topic === undefined) throw new RefusedError(404, 'The console has no such page.')
    const items = await topic.read(query, viewer)
    if (topic.isOfEach !== true) return items
    const { id } = scope().self
    return Object.fromEntries(Object.entries(items).map(([key, item]) => [`${id}/${key}`, item]))
  }

  async #act({ action: name, params, viewer }: ConsoleRequest & { kind: 'act' }): Promise<Json> {
    const { actions, changed } = this.#options
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined
    if (action === undefined) throw new RefusedError(404, 'The console cannot do this.')
    const change = { action: name, subject: action.subject(params), viewer }
    if (!mayDo(viewer, action.role)) {
      changed({ ...change, outcome: 'refused' })
      throw new RefusedError(403, `You are here as ${viewer.role}. This needs the role ${action.role}.`)
    }
    try {
      const value = await action.run(params, viewer)
      changed({ ...change, outcome: 'done' })
      return value
    } catch (error) {
      changed({ ...change, outcome: error instanceof RefusedError ? 'refused' : 'failed' })
      throw error instanceof ProtocolError ? new RefusedError(400, error.message) : error
    }
  }
}
