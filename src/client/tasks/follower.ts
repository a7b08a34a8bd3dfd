/** The tasks of one transport. Each is followed until its caller has the answer or gives up. */
import type { RequestId } from '../../protocol/index.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import { ClientError } from '../errors.ts'
import type { LayerContext } from '../layer/layer.ts'
import { idKey, resultMessage } from '../layer/message.ts'
import { type OwnRequests, type SenderProfile, ServerFault } from '../layer/ownRequests.ts'
import type { WireMessage } from '../layer/transport.ts'
import { answerAll } from '../questions/answerAll.ts'
import type { AskedCall } from '../questions/answerer.ts'
import type { Dispatcher } from '../questions/dispatcher.ts'
import type { Questions } from '../questions/inputRequests.ts'
import { suspendCall } from '../suspend/suspend.ts'
import type { TaskCall } from './call.ts'
import { ModernDialect, SessionDialect, type TaskDialect } from './dialects.ts'
import { taskFailure, type Task } from './task.ts'
import { ticketText } from './handle.ts'
import { type TaskOutcome, TaskPoller } from './poller.ts'
import type { TaskServer } from './server.ts'

interface TaskFollowerOptions {
  readonly context: LayerContext
  readonly requests: OwnRequests
  readonly server: TaskServer
  readonly dispatcher: Dispatcher
  readonly maxRounds: number
  readonly patienceMs: number
  readonly onStatus: ((task: Task, call: AskedCall) => void) | undefined
  readonly place: SavedPlace | undefined
}

export class TaskFollower {
  readonly #options: TaskFollowerOptions
  readonly #context: LayerContext
  /** The calls whose tasks are followed, by the caller's id. */
  readonly #calls = new Map<RequestId, TaskCall>()

  constructor(options: TaskFollowerOptions) {
    this.#options = options
    this.#context = options.context
  }

  /** Follows a task for its call. `first` is the response to the call; undefined if the call brings a ticket. */
  follow(call: TaskCall, taskId: string, first: Task | undefined): void {
    const { maxRounds, patienceMs } = this.#options
    const { sending } = call
    const poller = new TaskPoller((onChange) => this.dialectFor(taskId, sending, onChange), {
      maxRounds,
      patienceMs,
      onChange: (task) => this.#statusChanged(call, task),
      ask: (questions, signal) => this.#ask(call, questions, signal),
    })
    call.poller = poller
    this.#calls.set(call.key, call)
    void this.#run(call, poller, first)
  }

  /** Ends following for a caller, which cancels the task unless it was only watched. False if no task is followed. */
  giveUp(id: RequestId): boolean {
    const call = this.#calls.get(idKey(id))
    if (call?.poller === undefined) return false
    if (call.isOver) return true
    call.end()
    call.poller.stop()
    if (!call.ticket?.isWatch) this.cancel(call.poller.dialect)
    return true
  }

  /** Cancels a task in the background. A server's refusal is ignored: it comes where the task has ended already. */
  cancel(dialect: TaskDialect): void {
    dialect.cancel(new AbortController().signal).catch((error: unknown) => {
      if (!(error instanceof ServerFault)) this.#context.report(error as Error)
    })
  }

  /** The call that follows a task. */
  callOf(taskId: string | undefined): TaskCall | undefined {
    if (taskId === undefined) return undefined
    return [...this.#calls.values()].find(({ poller }) => poller?.dialect.taskId === taskId)
  }

  dialectFor(taskId: string, sending: SenderProfile, onChange: () => void): TaskDialect {
    const { requests, server } = this.#options
    if (sending.envelope !== undefined) return new ModernDialect(taskId, requests, sending)
    return new SessionDialect(taskId, { requests, sending, hasRounds: server.hasRounds, onChange })
  }

  /** Ends all following with the connection. If that was lost, the errors have the ids of the tasks, which continue. */
  end(isLost: boolean): void {
    for (const call of this.#calls.values()) {
      const { isOver, poller } = call
      call.end()
      poller?.stop()
      if (isLost && !isOver) this.#context.deliver(taskFailure(call.id, connectionLost(), poller?.dialect.taskId))
    }
  }

  async #run(call: TaskCall, poller: TaskPoller, first: Task | undefined): Promise<void> {
    const { taskId } = poller.dialect
    const message = await poller
      .run(first, call.answers)
      .then((outcome) => answerFor(call, taskId, outcome, this.#options))
      .catch((error: unknown) => taskFailure(call.id, error, taskId))
    this.#calls.delete(call.key)
    if (call.isOver) return
    call.end()
    this.#context.deliver(message)
  }

  #ask(call: TaskCall, questions: Questions, signal: AbortSignal) {
    const { dispatcher } = this.#options
    // A client of the stateless revision may itself answer questions without an answerer.
    if (call.isModern && !dispatcher.hasAllAnswerers(questions)) return undefined
    dispatcher.assertAnswerable(questions)
    return answerAll(questions, signal, (question) => dispatcher.ask({ ...question, call: call.about }, this.#context))
  }

  #statusChanged(call: TaskCall, task: Task): void {
    if (call.isOver) return
    if (call.progressToken !== undefined) this.#context.deliver(call.progress(task))
    try {
      this.#options.onStatus?.(task, call.about)
    } catch (error) {
      this.#context.report(error as Error)
    }
  }
}

function connectionLost(): ClientError {
  return new ClientError(
    'TASK_UNREACHABLE',
    'The connection ended before the task did; the server may continue the task.',
  )
}

interface AnswerContext {
  readonly dispatcher: Dispatcher
  readonly place: SavedPlace | undefined
}

/** The answer to the caller. If the task has not ended, the answer holds a ticket to continue with it. */
async function answerFor(
  call: TaskCall,
  taskId: string,
  outcome: TaskOutcome,
  { dispatcher, place }: AnswerContext,
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
