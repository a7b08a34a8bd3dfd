/**
 * What a server asks in the middle of a call. It does not say to which call that belongs, unless that is of a task, so the call
 * is found among those that wait for the server.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { CODES, declaresAll, type Json, neededCapability, readRelatedTask, RemoteError } from '../../protocol/index.ts'
import type { LinkCallers } from './link.ts'
import { type QuestionKind, questionsOf } from './relayed.ts'
import type { WaitingRequest } from './waitingRequest.ts'

/** What a message of a server may belong to. */
export interface OpenCalls {
  readonly waiting: readonly WaitingRequest[]
  /** Whose they are. */
  readonly callers: LinkCallers
  /** Whether the server may still work on others, which were given up. */
  readonly hasLeftovers: boolean
}

/** What a server may ask, by its method. */
const QUESTIONS: ReadonlyMap<string, QuestionKind> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
])

/**
 * The call that a message without a reference belongs to; none where it could be of different callers. Of several calls of one
 * client it may be any, so that one is taken whose client is there.
 */
export function likelyCall(
  { waiting, callers, hasLeftovers }: OpenCalls,
  kind?: QuestionKind,
): WaitingRequest | undefined {
  if (callers !== 'one' && (waiting.length > 1 || hasLeftovers)) return undefined
  const fitting =
    kind === undefined ? waiting : waiting.filter(({ relayed }) => questionsOf(relayed)[kind] !== undefined)
  return fitting.find(({ relayed }) => relayed.isAttended?.() !== false) ?? fitting[0]
}

/** The answer of whoever is asked; rejects where nobody can be. */
export async function answerTo(method: string, params: Json, calls: () => OpenCalls): Promise<Json> {
  if (method === 'ping') return {}
  const kind = QUESTIONS.get(method)
  if (kind === undefined) throw new RemoteError(CODES.METHOD_NOT_FOUND, `There is no method "${method}" here.`)
  const request = { method, params } as InputRequest
  for (;;) {
    const open = calls()
    const call = callOfTask(params, open) ?? likelyCall(open, kind)
    const { ask, peer } = call?.relayed ?? {}
    if (ask === undefined || peer === undefined || !declaresAll(peer.capabilities, neededCapability(request)))
      throw new RemoteError(
        CODES.INVALID_REQUEST,
        'Nobody can be asked: the caller has not declared this, or the question belongs to no call, or to several.',
      )
    // Each of them may be the one that waits for the answer.
    const goOn = open.waiting.map((waiting) => waiting.pause())
    try {
      return await ask(request)
    } catch (error) {
      // The question was of another call, which still waits for the answer.
      if (call?.isSettled !== true || calls().waiting.length === 0) throw error
    } finally {
      for (const resume of goOn) resume()
    }
  }
}

/** A question of a task comes on the request for its result. */
function callOfTask({ _meta: meta }: Json, { waiting }: OpenCalls): WaitingRequest | undefined {
  const taskId = readRelatedTask(meta)
  if (taskId === undefined) return undefined
  return waiting.find(({ relayed }) => relayed.method === 'tasks/result' && relayed.params['taskId'] === taskId)
}
