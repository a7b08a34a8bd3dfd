/** Follows the tasks of one transport, each for the call that has it, until the caller has its answer or wants none. */
import type { RequestId } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { LayerContext } from '../layer/layer.ts'
import { idKey, resultMessage } from '../layer/message.ts'
import { type OwnRequests, type SenderProfile, ServerFault } from '../layer/ownRequests.ts'
import type { WireMessage } from '../layer/transport.ts'
import { answerAll } from '../questions/answerAll.ts'
import type { AskedCall } from '../questions/answerer.ts'
import type { Dispatcher } from '../questions/dispatcher.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import { suspendCall } from '../suspend/suspend.ts'
import type { TaskCall } from './call.ts'
import { ModernTalk, SessionTalk, type TaskTalk } from './dialects.ts'
import { taskFailure } from './failure.ts'
import { ticketText } from './handle.ts'
import { Following, type Outcome } from './poller.ts'
import type { Questions } from '../questions/inputRequests.ts'
import type { TaskPeer } from './server.ts'
import { TaskNews } from './subscription.ts'
import type { Task } from './task.ts'

interface TaskFollowerOptions {
  readonly ends: LayerContext
  readonly wire: OwnRequests
  readonly peer: TaskPeer
  readonly dispatcher: Dispatcher
  readonly listen: boolean
  readonly maxRounds: number
  readonly patienceMs: number
  readonly onStatus: ((task: Task, call: AskedCall) => void) | undefined
  readonly place: SavedPlace | undefined
}

function lost(): ClientError {
  return new ClientError('TASK_UNREACHABLE', 'The connection ended before the task did; the server may go on with it.')
}

export class TaskFollower {
  readonly #options: TaskFollowerOptions
  readonly #ends: LayerContext
  readonly #news: TaskNews
  /** By the caller's id. */
  readonly #followed = new Map<RequestId, TaskCall>()

  constructor(options: TaskFollowerOptions) {
    this.#options = options
    this.#ends = options.ends
    this.#news = new TaskNews(options.ends)
  }

  /** From what the call was answered with, or from the ticket that it brings. */
  follow(call: TaskCall, taskId: string, first: Task | undefined): void {
    const { maxRounds, patienceMs, listen } = this.#options
    const { sending } = call
    const following = new Following((ring) => this.talk(taskId, sending, ring), {
      maxRounds,
      patienceMs,
      isTold: () => this.#news.isTold(taskId),
      tell: (task) => this.#tell(call, task),
      ask: (questions, signal) => this.#ask(call, questions, signal),
    })
    call.following = following
    this.#followed.set(call.key, call)
    if (listen && this.#isModern(sending)) this.#news.listen(taskId, following, sending)
    void this.#run(call, following, first)
  }

  /** The caller wants no answer any more. Whether it has a task here. */
  giveUp(id: RequestId): boolean {
    const call = this.#followed.get(idKey(id))
    if (call?.following === undefined) return false
    if (call.isOver) return true
    call.end()
    call.following.stop()
    if (!call.ticket?.isWatch) this.cancel(call.following.talk)
    return true
  }

  /** Nobody waits for this. A task that has ended cannot be cancelled, and need not. */
  cancel(talk: TaskTalk): void {
    talk.cancel(new AbortController().signal).catch((error: unknown) => {
      if (!(error instanceof ServerFault)) this.#ends.report(error as Error)
    })
  }

  /** The call that follows a task. */
  callOf(taskId: string | undefined): TaskCall | undefined {
    if (taskId === undefined) return undefined
    return [...this.#followed.values()].find(({ following }) => following?.talk.taskId === taskId)
  }

  /** Whether a message is about tasks that are listened to here. */
  takes(message: WireMessage): boolean {
    return this.#news.takes(message)
  }

  /** How to talk about a task to the server that has it. */
  talk(taskId: string, sending: SenderProfile, onNews: () => void): TaskTalk {
    const { wire, peer } = this.#options
    if (this.#isModern(sending)) return new ModernTalk(taskId, wire, sending)
    return new SessionTalk(taskId, { wire, sending, hasRounds: peer.hasRounds, onNews })
  }

  /** Where the connection was lost, callers are told the ids: their tasks go on. */
  end(isLost: boolean): void {
    for (const call of this.#followed.values()) {
      const { isOver, following } = call
      call.end()
      following?.stop()
      if (isLost && !isOver) this.#ends.deliver(taskFailure(call.id, lost(), following?.talk.taskId))
    }
    this.#news.stop()
  }

  #isModern({ envelope }: SenderProfile): boolean {
    return envelope !== undefined || this.#options.peer.hasExtension
  }

  async #run(call: TaskCall, following: Following, first: Task | undefined): Promise<void> {
    const { taskId } = following.talk
    const message = await following
      .run(first, call.answers)
      .then((outcome) => answerFor(call, taskId, outcome, this.#options))
      .catch((error: unknown) => taskFailure(call.id, error, taskId))
    this.#followed.delete(call.key)
    this.#news.leave(taskId, following)
    if (call.isOver) return
    call.end()
    this.#ends.deliver(message)
  }

  #ask(call: TaskCall, questions: Questions, signal: AbortSignal) {
    const { dispatcher } = this.#options
    // Where the client speaks the stateless revision, it may have what answers the rest.
    if (call.isModern && !dispatcher.hasAllAnswerers(questions)) return undefined
    dispatcher.assertAnswerable(questions)
    return answerAll(questions, signal, (question) => dispatcher.ask({ ...question, call: call.about }, this.#ends))
  }

  #tell(call: TaskCall, task: Task): void {
    if (call.isOver) return
    if (call.token !== undefined) this.#ends.deliver(call.progress(task))
    try {
      this.#options.onStatus?.(task, call.about)
    } catch (error) {
      this.#ends.report(error as Error)
    }
  }
}

/** What a caller is answered when its task is not followed any further. */

interface Whereabouts {
  readonly dispatcher: Dispatcher
  readonly place: SavedPlace | undefined
}

/** The answer. Where it is not the last word, the caller goes on with it from a ticket. */
async function answerFor(
  call: TaskCall,
  taskId: string,
  outcome: Outcome,
  { dispatcher, place }: Whereabouts,
): Promise<WireMessage> {
  const requestState = ticketText(call.ticket ?? { taskId, isWatch: false })
  switch (outcome.kind) {
    case 'completed':
      return resultMessage(call.id, outcome.result)
    case 'failed':
      return { jsonrpc: '2.0', id: call.id, error: outcome.error }
    case 'asks': {
      const inputRequests = Object.fromEntries(outcome.questions)
      return resultMessage(call.id, { resultType: 'input_required', inputRequests, requestState })
    }
    case 'suspended': {
      const { open, answers } = outcome.round
      const { server } = dispatcher
      const round = { open, inputResponses: answers, requestState, server, place }
      return resultMessage(call.id, await suspendCall({ method: 'tools/call', params: call.params, ...round }))
    }
    default:
      return outcome satisfies never
  }
}
