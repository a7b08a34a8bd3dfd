/** A client's facts about its server's tasks: the dialect, and in a session the tools that run as tasks. */
import {
  backoffMs,
  isObject,
  type Json,
  offersTasks,
  type RequestId,
  sleep,
  understandsRounds,
} from '../../protocol/index.ts'
import { paramsOf, type WireResponse, type WireRequest } from '../layer/message.ts'
import { isTransient, type OwnRequests, type SenderProfile, ServerFault } from '../layer/ownRequests.ts'

/** What the start of a connection shows: the dialect of the server, and whether calls may request tasks. */
export class TaskServer {
  #greeting: RequestId | undefined
  #clientCapabilities: Json = {}
  /** Whether `tools/call` may ask for a task, in a session. */
  takesTasks = false
  /** Whether both sides declared `dev.pannier/rounds`: questions are then results. */
  hasRounds = false

  /** Takes note of the request that begins the connection. */
  clientGreets(message: WireRequest): void {
    this.#greeting = message.id
    const { capabilities } = paramsOf(message)
    this.#clientCapabilities = isObject(capabilities) ? capabilities : {}
  }

  /** Takes note of the answer to that request. Whether the message is that answer. */
  serverAnswers({ id, result }: WireResponse): boolean {
    if (id !== this.#greeting || !isObject(result)) return false
    const { capabilities } = result
    const declared = isObject(capabilities) ? capabilities : {}
    this.takesTasks = offersTasks('legacy', declared)
    this.hasRounds = understandsRounds(this.#clientCapabilities) && understandsRounds(declared)
    return true
  }
}

type TaskSupport = 'required' | 'optional' | 'forbidden'

/** How many pages of a list are read. */
const MAX_PAGES = 100
/** The number of attempts to request a page after temporary failures. With the pauses that takes about two seconds. */
const MAX_TRIES = 5
const BACKOFF = { firstMs: 100, maxMs: 1_000 }

/**
 * Which tools of a session-era server run as tasks, from the lists that pass by. If no tool list is known, it is
 * requested.
 */
export class TaskTools {
  readonly #requests: OwnRequests
  #known = new Map<string, TaskSupport>()
  #isComplete = false
  #reading: Promise<void> | undefined

  constructor(requests: OwnRequests) {
    this.#requests = requests
  }

  /** Rejects if the server cannot be reached for its list: a tool that runs only as a task would refuse the call. */
  async support(name: string, sending: SenderProfile): Promise<TaskSupport> {
    if (!this.#known.has(name) && !this.#isComplete) {
      this.#reading ??= this.#readList(sending).finally(() => (this.#reading = undefined))
      await this.#reading
    }
    return this.#known.get(name) ?? 'forbidden'
  }

  /**
   * Reads one page of a list on its way to the client. The SDK's client refuses to call a tool that requires a task. With
   * this layer such a tool can be called like any other, so the list calls the task optional.
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

  async #readList(sending: SenderProfile): Promise<void> {
    let cursor: unknown
    try {
      for (let page = 0; page < MAX_PAGES; page++) {
        const result = await this.#readPage(cursor === undefined ? {} : { cursor }, sending)
        this.learn(result)
        cursor = result['nextCursor']
        if (typeof cursor !== 'string') break
      }
      this.#isComplete = true
    } catch (error) {
      if (!(error instanceof ServerFault)) throw error
      // The server answered, and its error explains what is wrong with the call.
    }
  }

  async #readPage(params: Json, sending: SenderProfile): Promise<Json> {
    const { signal } = new AbortController()
    for (let tries = 1; ; tries++) {
      try {
        return await this.#requests.request('tools/list', params, sending, signal)
      } catch (error) {
        if (!isTransient(error) || tries === MAX_TRIES) throw error
      }
      await sleep(backoffMs(tries, BACKOFF), signal)
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
