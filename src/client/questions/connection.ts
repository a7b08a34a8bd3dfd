/**
 * What the layers `rounds` and `tasks` of one connection share: one dispatcher, and one count of pushed questions.
 *
 * - They share where they are around the same transport and were given the same answerers and the same server.
 * - Each of them uses it once. So a second `rounds` around a transport, for another client, begins anew.
 */
import { innermost } from '../layer/layer.ts'
import type { Answerers } from './answerer.ts'
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts'
import { PushedQuestions } from './pushed.ts'

export interface ConnectionQuestions {
  readonly dispatcher: Dispatcher
  readonly pushed: PushedQuestions
}

type AskingLayer = 'rounds' | 'tasks'

interface Shared {
  readonly questions: ConnectionQuestions
  readonly options: DispatcherOptions
  readonly users: Set<AskingLayer>
}

/** By the transport that all layers of the connection are around; the newest only. */
const connections = new WeakMap<object, Shared>()

/** The questions of the connection that `transport` is, for one of its layers. */
export function connectionQuestions(
  transport: object,
  layer: AskingLayer,
  options: DispatcherOptions,
): ConnectionQuestions {
  const connection = innermost(transport)
  const known = connections.get(connection)
  if (known !== undefined && !known.users.has(layer) && isSame(known.options, options)) {
    known.users.add(layer)
    return known.questions
  }
  const dispatcher = new Dispatcher(options)
  const questions = { dispatcher, pushed: new PushedQuestions(dispatcher) }
  connections.set(connection, { questions, options, users: new Set([layer]) })
  return questions
}

const KINDS: readonly (keyof Answerers)[] = ['form', 'url', 'sampling', 'roots']

function isSame(one: DispatcherOptions, other: DispatcherOptions): boolean {
  const isSameServer = one.server?.name === other.server?.name && one.server?.target === other.server?.target
  return isSameServer && KINDS.every((kind) => one.answerers[kind] === other.answerers[kind])
}
