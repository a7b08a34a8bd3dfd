/** What the beginning of a connection tells about tasks: which dialect, and whether calls may ask for one. */
import { isObject, type Json, type RequestId, ROUNDS_CAPABILITY, TASKS_EXTENSION } from '../../protocol/index.ts'
import { paramsOf, type WireResponse, type WireRequest } from '../layer/message.ts'
import type { OwnRequests, SenderProfile } from '../layer/ownRequests.ts'

export class TaskPeer {
  #greeting: RequestId | undefined
  #client: unknown
  /** Whether a server behind `modern()` speaks the newer dialect, although its client sees a session. */
  hasExtension = false
  /** Whether calls of tools may ask to become tasks, in a session. */
  takesTasks = false
  /** Whether both sides know questions as results. */
  hasRounds = false

  /** A request that begins a session. */
  greet(message: WireRequest): void {
    this.#greeting = message.id
    this.#client = paramsOf(message)['capabilities']
  }

  /** Whether the message is its answer. */
  hear({ id, result }: WireResponse): boolean {
    if (id !== this.#greeting || !isObject(result)) return false
    const { capabilities } = result
    this.hasExtension = at(capabilities, 'extensions', TASKS_EXTENSION) && !at(capabilities, 'tasks')
    this.takesTasks = !this.hasExtension && at(capabilities, 'tasks', 'requests', 'tools', 'call')
    this.hasRounds = [this.#client, capabilities].every((side) => at(side, 'experimental', ROUNDS_CAPABILITY))
    return true
  }
}

function at(capabilities: unknown, ...path: readonly string[]): boolean {
  const found = path.reduce((value: unknown, key) => (isObject(value) ? (value as Json)[key] : undefined), capabilities)
  return isObject(found)
}

/** Which tools of a session-era server run as tasks. Its lists say so; where none came by, one is asked for. */

type TaskSupport = 'required' | 'optional' | 'forbidden'

/** A list with more pages than this is no list. */
const MAX_PAGES = 100

export class TaskTools {
  readonly #wire: OwnRequests
  #known = new Map<string, TaskSupport>()
  #isComplete = false
  #asking: Promise<void> | undefined

  constructor(wire: OwnRequests) {
    this.#wire = wire
  }

  async support(name: string, sending: SenderProfile): Promise<TaskSupport> {
    if (!this.#known.has(name) && !this.#isComplete) {
      this.#asking ??= this.#ask(sending).finally(() => (this.#asking = undefined))
      await this.#asking
    }
    return this.#known.get(name) ?? 'forbidden'
  }

  /**
   * One page of a list, on its way to the client. With this layer a tool that runs only as a task can be called like
   * any other; a client that reads otherwise would refuse to.
   */
  learn(result: Json): Json {
    if (!Array.isArray(result['tools'])) return result
    const tools: unknown[] = result['tools']
    for (const tool of tools) {
      if (isObject(tool) && typeof tool['name'] === 'string') this.#known.set(tool['name'], supportOf(tool))
    }
    const isRequired = (tool: unknown): boolean => isObject(tool) && supportOf(tool) === 'required'
    return tools.some(isRequired)
      ? { ...result, tools: tools.map((tool) => (isRequired(tool) ? callable(tool as Json) : tool)) }
      : result
  }

  /** The list has changed. */
  forget(): void {
    this.#known = new Map()
    this.#isComplete = false
  }

  async #ask(sending: SenderProfile): Promise<void> {
    let cursor: unknown
    try {
      for (let page = 0; page < MAX_PAGES; page++) {
        const params = cursor === undefined ? {} : { cursor }
        const result = await this.#wire.request('tools/list', params, sending, new AbortController().signal)
        this.learn(result)
        cursor = result['nextCursor']
        if (typeof cursor !== 'string') break
      }
      this.#isComplete = true
    } catch {
      // The call says what is wrong.
    }
  }
}

function supportOf({ execution }: Json): TaskSupport {
  const support = isObject(execution) ? execution['taskSupport'] : undefined
  return support === 'required' || support === 'optional' ? support : 'forbidden'
}

function callable(tool: Json): Json {
  return { ...tool, execution: { ...(tool['execution'] as Json), taskSupport: 'optional' } }
}
