/** The runs of a task: the same handler over the same journal, without a connection. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Journal, Run } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { Call, CallObserver, Channel } from '../call.ts'
import { Context, DetachableContext } from '../handler/context.ts'
import { assertAskable, isForm } from '../handler/askable.ts'
import { InputRequired } from '../handler/questions.ts'
import { errorDetails } from '../logger.ts'
import type { RunOutcome, TaskWork } from '../taskPort.ts'
import { isExpected, toWireError } from '../wireErrors.ts'
import { type CallToolOptions, checkArguments, observed, toolRound, unfit, unknownTool } from './callTool.ts'
import { type CallResult, handlerCall, UnfinishedResult } from './middleware.ts'
import {
  assertRoundLeft,
  callersApproval,
  type HandlerRun,
  runHandler,
  type RunSetup,
  sharedClaims,
} from './runHandler.ts'
import type { Invocation, RoundRunnerOptions } from './rounds.ts'

export type TaskRunOptions = Pick<
  RoundRunnerOptions,
  | 'approval'
  | 'ledger'
  | 'audience'
  | 'maxAsks'
  | 'maxRounds'
  | 'unwindMs'
  | 'watch'
  | 'logger'
  | 'middleware'
  | 'results'
>

/** Runs the tool of a task: the same checks and the same handler, from what the store holds. Never rejects. */
export function taskRunOf(options: CallToolOptions, limits: TaskRunOptions) {
  const checkAndRun = async (work: TaskWork, call: Call): Promise<RunOutcome> => {
    const entry = options.registry.tools.get(work.tool)
    if (entry === undefined) throw unknownTool(work.tool)
    const checked = await checkArguments(entry, work.args)
    if (!checked.ok) return { kind: 'completed', result: observed(call, unfit(checked.issues)) }
    return runTask(work, call, toolRound(entry, call, checked.value, options), limits)
  }
  const run = (work: TaskWork, call: Call): Promise<RunOutcome> =>
    checkAndRun(work, call).catch((error: unknown) => {
      const details = { task: work.id, tool: work.tool, err: errorDetails(error) }
      if (!isExpected(error) && !work.signal.aborted) options.logger().error(details, 'A task failed.')
      return { kind: 'failed', error: toWireError(error, call) }
    })
  return async (work: TaskWork): Promise<RunOutcome> => {
    const call = callOf(work)
    const span = options.telemetry?.start(call, true)
    if (span === undefined) return run(work, call)
    const stretch = await span.run(() => run(work, { ...call, observer: span }))
    if (stretch.kind === 'failed') span.fail(stretch.error.code)
    else span.end()
    return stretch
  }
}

/** The call of a task, as if it had just arrived from a client that can be asked but not notified. */
function callOf(work: TaskWork): Call {
  const { id, tool, args, caller, journal } = work
  const inputResponses = Object.fromEntries(Array.from(journal.answers, ([key, { response }]) => [key, response]))
  return {
    id,
    method: 'tools/call',
    params: { name: tool, arguments: args, inputResponses },
    meta: caller.meta,
    peer: { ...caller.peer, logLevel: undefined, session: undefined, takesInputRequired: true },
    principal: caller.principal,
    channel: channelOf(work),
    header: undefined,
  }
}

/** Runs the task's handler once. Rejects with why the call has no result. */
async function runTask<T>(
  work: TaskWork,
  call: Call,
  invocation: Invocation<T>,
  options: TaskRunOptions,
): Promise<RunOutcome> {
  const { middleware } = options
  const run = new TaskRun(work, call, invocation, options)
  if (middleware.isEmpty) return runHandler(run)
  return runHandler(run, async (journal, runOnce) => {
    const about = handlerCall(call, invocation.subject, journal, work.id)
    const outcome = outcomeOf(await middleware.run(about, async () => resultOf(await runOnce())))
    if (outcome.kind === 'completed') options.results.complete(outcome.result, call.peer) // throws if it cannot be sent
    return outcome
  })
}

function resultOf(outcome: RunOutcome): CallResult {
  if (outcome.kind === 'completed') return outcome.result
  return new UnfinishedResult('input_required', outcome, outcome.kind === 'asked' ? outcome.requests : undefined)
}

function outcomeOf(result: CallResult): RunOutcome {
  return UnfinishedResult.outcomeOf<RunOutcome>(result) ?? { kind: 'completed', result }
}

/** One run of a task's handler, from its start or from its last question to its end or its next question. */
class TaskRun<T> implements HandlerRun<T | InputRequired, RunOutcome> {
  readonly #work: TaskWork
  readonly #call: Call
  readonly #invocation: Invocation<T>
  readonly #options: TaskRunOptions
  #ctx: DetachableContext | undefined

  constructor(work: TaskWork, call: Call, invocation: Invocation<T>, options: TaskRunOptions) {
    this.#work = work
    this.#call = call
    this.#invocation = invocation
    this.#options = options
  }

  get observer(): CallObserver | undefined {
    return this.#call.observer
  }

  open(): Journal {
    return this.#work.journal
  }

  setup(): RunSetup {
    const [work, call] = [this.#work, this.#call]
    const { maxAsks, unwindMs, watch, logger } = this.#options
    return {
      about: { method: call.method, name: work.tool },
      ledger: { claim: async (id) => ({ state: await work.claim(id) }), settle: async () => {}, release: work.unclaim },
      shared: sharedClaims(call, work.tool, this.#options),
      commit: work.commit,
      isStopped: work.isOver,
      maxAsks,
      unwindMs,
      watch: call.observer === undefined ? watch : call.observer.watch(watch),
      logger,
      responses: {}, // the answers are in the journal already
      assertAskable: (request) => {
        // Whatever the client that made the task declares: another one can answer. A waiting call has no other client.
        if (work.caller.waits === true && !isForm(request)) assertAskable(call, request)
      },
      ...callersApproval(() => call, this.#options),
      asksOthers: true,
      shedding: () => (work.draining() ? 'draining' : 'no'),
      onRefused: () => call.observer?.answerRefused(),
    }
  }

  invoke(run: Run, journal: Journal): T | InputRequired | Promise<T | InputRequired> {
    this.#ctx = new DetachableContext(this.#call, run, journal.own)
    return this.#invocation.invoke(this.#ctx)
  }

  async complete(value: T | InputRequired, journal: Journal): Promise<RunOutcome> {
    if (value instanceof InputRequired) return this.#askedExplicitly(value, journal)
    // A handler may return an invalid result, or one that cannot be sent.
    try {
      return this.#completed(await this.#invocation.finish(value))
    } catch (error) {
      return this.failed(error)
    }
  }

  failed(error: unknown): RunOutcome {
    const { rescue } = this.#invocation
    if (rescue === undefined) throw error
    return this.#completed(rescue(error))
  }

  asked(requests: ReadonlyMap<string, InputRequest>, journal: Journal): RunOutcome {
    if (requests.size === 0) return { kind: 'handed-over' }
    assertRoundLeft(journal, this.#options.maxRounds)
    this.observer?.asked(requests, journal)
    return { kind: 'asked', requests }
  }

  detached(): never {
    throw new TypeError('A task cannot become a task.')
  }

  /** A handler in explicit style returned its questions. */
  #askedExplicitly({ inputRequests, requestState }: InputRequired, journal: Journal): RunOutcome {
    assertRoundLeft(journal, this.#options.maxRounds)
    for (const key of inputRequests.keys()) {
      journal.open.set(key, { question: undefined, times: (journal.open.get(key)?.times ?? 0) + 1 })
    }
    journal.own = requestState
    return this.asked(inputRequests, journal)
  }

  /** State for the client is in the result's `_meta`, as in the answer of a call. Throws if it cannot be sent. */
  #completed(value: Json): RunOutcome {
    const kept = this.#ctx && Context.stateMeta(this.#ctx)
    const result = kept === undefined ? value : { ...value, _meta: { ...(value['_meta'] as Json), ...kept } }
    this.#options.results.complete(result, this.#call.peer)
    return { kind: 'completed', result }
  }
}

function channelOf({ signal, progress }: TaskWork): Channel {
  return {
    notify() {}, // the revisions have no notifications of a task except its status
    progress,
    onCancel: (listener) => signal.addEventListener('abort', listener, { once: true }),
    get cancelled() {
      return signal.aborted
    },
  }
}
