/**
 * A server's questions in the middle of a call. A question of a task names its call, and over HTTP so does the stream
 * of the question. Otherwise the call is chosen among those that wait for the server.
 */
import type { InputRequest, JSONRPCMessage } from '@modelcontextprotocol/client'
import {
  CODES,
  capabilityNames,
  declaresAll,
  type Json,
  neededCapability,
  readRelatedTask,
  RemoteError,
  type RequestId,
} from '../../protocol/index.ts'
import { whenAbsent } from '../waiting.ts'
import type { LinkCallers } from './link.ts'
import { AskAgain, NotAnswered, type Presence, type QuestionKind, questionsOf } from './relayed.ts'
import type { WaitingRequest } from './waitingRequest.ts'

/** The calls that a message of a server may belong to. */
export interface OpenCalls {
  readonly waiting: readonly WaitingRequest[]
  readonly callers: LinkCallers
  /** Whether the server may still work on cancelled calls. */
  readonly hasLeftovers: boolean
  /** The call on whose stream the message came. Over HTTP it belongs to that one (2025-11-25, transports). */
  readonly related?: WaitingRequest | undefined
}

/** The questions of a server, by method. */
const QUESTIONS: ReadonlyMap<string, QuestionKind> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
])

/** Whether a message that does not name its call could belong to different callers. */
function isOfSeveral({ waiting, callers, hasLeftovers }: OpenCalls): boolean {
  return callers !== 'one' && (waiting.length > 1 || (waiting.length > 0 && hasLeftovers))
}

/**
 * The call that a message belongs to; undefined if it could belong to different callers. Without a stream that names
 * the call, it picks one of the client's calls, preferably one whose client is connected.
 */
export function likelyCall(open: OpenCalls, kind?: QuestionKind): WaitingRequest | undefined {
  const { waiting, related } = open
  if (isOfSeveral(open)) return undefined
  if (related?.isSettled === false) return related
  const fitting =
    kind === undefined ? waiting : waiting.filter(({ relayed }) => questionsOf(relayed)[kind] !== undefined)
  const inState = (presence: Presence) => fitting.find(({ relayed }) => (relayed.presence?.() ?? 'here') === presence)
  return inState('here') ?? inState('asked') ?? fitting[0]
}

/** Number of calls that may ask the same question without an answer in time. */
const MAX_UNANSWERED = 2

/** The answer of the caller; rejects if no caller can be asked. */
export async function answerTo(method: string, params: Json, calls: () => OpenCalls): Promise<Json> {
  if (method === 'ping') return {}
  const kind = QUESTIONS.get(method)
  if (kind === undefined) throw new RemoteError(CODES.METHOD_NOT_FOUND, `There is no method "${method}" here.`)
  const request = { method, params } as InputRequest
  let unanswered = 0
  for (;;) {
    const open = calls()
    const call = callOfTask(params, open) ?? likelyCall(open, kind)
    const { ask, peer } = call?.relayed ?? {}
    if (ask === undefined || peer === undefined || !declaresAll(peer.capabilities, neededCapability(request)))
      throw cannotAsk(request, open)
    // Any of these calls may wait for the answer, so all their timeouts pause.
    const resumes = open.waiting.map((waiting) => waiting.pause())
    const elsewhere = Promise.withResolvers<never>()
    const stopWatching = whenAbsent(
      () => call?.relayed.presence?.() === 'gone' && likelyCall(calls(), kind)?.relayed.presence?.() === 'here',
      () => elsewhere.reject(new AskAgain()),
    )
    try {
      return await Promise.race([ask(request), elsewhere.promise])
    } catch (error) {
      if (error instanceof AskAgain) continue
      // The first client may not have got the question, because its response was lost.
      if (error instanceof NotAnswered && ++unanswered === MAX_UNANSWERED) throw error
      // The question is asked again in another call of this client, which still waits for the answer.
      const { callers, waiting } = calls()
      const isOfOther = call?.isSettled === true && call !== open.related
      if (!isOfOther || callers !== 'one' || waiting.length === 0) throw error
    } finally {
      stopWatching()
      for (const resume of resumes) resume()
    }
  }
}

/** The error with the applicable reason. Servers put the sentence into their results, so callers may read it. */
function cannotAsk(request: InputRequest, calls: OpenCalls): RemoteError {
  const needed = neededCapability(request)
  const refused = (sentence: string, data?: Json): RemoteError =>
    new RemoteError(CODES.INVALID_REQUEST, `Nobody can be asked: ${sentence}`, data)
  if (calls.waiting.length === 0)
    return refused('no call is under way. Ask in the middle of a call, before its result.')
  if (!calls.waiting.some(({ relayed }) => declaresAll(relayed.peer.capabilities, needed)))
    return refused(`this needs a client that declares: ${capabilityNames(needed)}.`, { requiredCapabilities: needed })
  return refused(isOfSeveral(calls) ? SEVERAL[calls.callers === 'all' ? 'all' : 'nameless'] : NO_WAY)
}

const NO_WAY = 'the client of this call has no stream on which it can be asked. Call with one that takes event streams.'
const SEVERAL = {
  all: 'calls of several callers are under way, and the question does not say to which it belongs. Set "state": "stateful" in the entry of the server.',
  nameless:
    'calls of several clients without a name are under way, or were just given up, and the question does not say to which it belongs. Call again when they have ended, or let the gateway know its callers.',
}

/** The call that waits for the result of a task, on which its questions come. */
function callOfTask({ _meta: meta }: Json, { waiting }: OpenCalls): WaitingRequest | undefined {
  const taskId = readRelatedTask(meta)
  if (taskId === undefined) return undefined
  return waiting.find(({ relayed }) => relayed.method === 'tasks/result' && relayed.params['taskId'] === taskId)
}

/** Maximum number of unanswered requests before the server is disconnected. */
const MAX_OPEN = 1000
const SENT_AT_ONCE = 32

export interface ServerRequestsOptions {
  readonly send: (message: JSONRPCMessage) => Promise<void>
  /** Called when the server has too many open requests. */
  readonly onTooMany: (why: string) => void
}

/** Requests of a server, and the answers to them. Each answer may need a connection, so few are sent concurrently. */
export class ServerRequests {
  readonly #options: ServerRequestsOptions
  /** Answers that wait until others are sent. */
  readonly #ready: (() => void)[] = []
  #open = 0
  #sending = 0

  constructor(options: ServerRequestsOptions) {
    this.#options = options
  }

  async answer(id: RequestId, answered: () => Promise<Json>): Promise<void> {
    if (this.#open >= MAX_OPEN) return this.#options.onTooMany(`has more than ${MAX_OPEN} requests of its own open`)
    this.#open++
    const answer = await answered().then(
      (result) => ({ result }),
      (error: unknown) => ({ error: wireErrorOf(error) }),
    )
    await this.#sent({ jsonrpc: '2.0', id, ...answer } as JSONRPCMessage)
    this.#open--
  }

  async #sent(message: JSONRPCMessage): Promise<void> {
    if (this.#sending >= SENT_AT_ONCE) await new Promise<void>((resolve) => void this.#ready.push(resolve))
    else this.#sending++
    await this.#options.send(message).catch(() => {}) // a server that is gone needs no answer
    const next = this.#ready.shift()
    if (next === undefined) this.#sending--
    else next()
  }
}

function wireErrorOf(error: unknown): Json {
  if (!(error instanceof RemoteError)) return { code: CODES.INTERNAL_ERROR, message: 'The question was not answered.' }
  const { code, message, data } = error
  return { code, message, ...(data !== undefined && { data }) }
}
