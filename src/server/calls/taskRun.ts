/** One run of a task: the same handler over the same kind of journal, with nobody at the other end of a connection. */
import { Run } from '../../journal/index.ts'
import { declaresTasks, isObject, type Json, ProtocolError, TASKS_EXTENSION } from '../../protocol/index.ts'
import type { Call, Channel } from '../call.ts'
import type { TaskOptions } from '../catalog/definitions.ts'
import { Context, DetachableContext } from '../handler/context.ts'
import { assertAskable, InputRequired } from '../handler/questions.ts'
import type { Stretch, TaskWork } from '../taskPort.ts'
import { type RoundRunnerOptions, reports, type Invocation, roundsExhausted } from './rounds.ts'

export type TaskRunOptions = Pick<RoundRunnerOptions, 'maxAsks' | 'maxRounds' | 'unwindMs' | 'watch' | 'logger'>

/** The call that a task stands for: as if it had just come, from a client that can be asked but not spoken to. */
export function callOf(work: TaskWork): Call {
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

/** How the run stopped; rejects with why the call has no result. */
export async function runTask<T>(
  work: TaskWork,
  call: Call,
  round: Invocation<T>,
  options: TaskRunOptions,
): Promise<Stretch> {
  const { journal } = work
  const run = new Run({
    journal,
    ledger: { claim: async (id) => ({ state: await work.claim(id) }), settle: async () => {}, release: work.unclaim },
    commit: work.commit,
    maxAsks: options.maxAsks,
    unwindMs: options.unwindMs,
    watch: options.watch,
    responses: {}, // what was answered is in the journal already
    assertAskable: (request) => assertAskable(call, request),
    shedding: () => (work.draining() ? 'draining' : 'no'),
    later: setImmediate,
    ...reports(call, work.tool, options.logger),
  })
  const ctx = new DetachableContext(call, run, journal.own)
  const outcome = await run.play(() => round.invoke(ctx))
  switch (outcome.kind) {
    case 'complete':
      if (outcome.value instanceof InputRequired) return askedExplicitly(call, work, outcome.value, options)
      return completed(await round.finish(outcome.value), ctx)
    case 'failed':
      if (round.rescue === undefined) throw outcome.error
      return completed(round.rescue(outcome.error), ctx)
    case 'asked':
      if (outcome.requests.size === 0) return { kind: 'handed-over' }
      assertRounds(work, options)
      return { kind: 'asked', requests: outcome.requests }
    case 'detached':
      throw new TypeError('A task cannot become a task.')
    default:
      return outcome satisfies never
  }
}

function askedExplicitly(call: Call, work: TaskWork, asked: InputRequired, options: TaskRunOptions): Stretch {
  const { journal } = work
  assertRounds(work, options)
  for (const [key, request] of asked.inputRequests) {
    assertAskable(call, request)
    journal.open.set(key, { question: undefined, times: (journal.open.get(key)?.times ?? 0) + 1 })
  }
  journal.own = asked.requestState
  return asked.inputRequests.size === 0 ? { kind: 'handed-over' } : { kind: 'asked', requests: asked.inputRequests }
}

function assertRounds({ journal }: TaskWork, { maxRounds }: TaskRunOptions): void {
  if (journal.round + 1 >= maxRounds) throw roundsExhausted(maxRounds)
}

/** What the client is to keep rides in the result, as it would in the answer of a call. */
function completed(result: Json, ctx: Context): Stretch {
  const kept = Context.stateMeta(ctx)
  return {
    kind: 'completed',
    result: kept === undefined ? result : { ...result, _meta: { ...(result['_meta'] as Json), ...kept } },
  }
}

function channelOf({ signal, progress }: TaskWork): Channel {
  return {
    notify() {}, // the revisions have no messages of a task but its status
    progress,
    onCancel: (listener) => signal.addEventListener('abort', listener, { once: true }),
    get cancelled() {
      return signal.aborted
    },
  }
}

/** Whether a call of a tool becomes a task. */

/** `at-once`: before the handler runs. `detachable`: when the handler says so. */
type Becoming = 'at-once' | 'detachable' | 'never'

export function becoming(tool: string, support: TaskOptions | undefined, call: Call): Becoming {
  const taken = takesTasks(call)
  if (support === undefined) return taken && call.peer.era === 'legacy' ? refuseTask(tool) : 'never'
  if (taken) return support.startsAs === 'call' ? 'detachable' : 'at-once'
  if (support.task === 'required') throw taskNeeded(tool, call)
  return 'never'
}

/** Clients of the stateless revision say what they understand; those before ask for a task with each call. */
function takesTasks({ peer, params }: Call): boolean {
  return peer.era === 'modern' ? declaresTasks(peer.capabilities) : isObject(params['task'])
}

function refuseTask(tool: string): never {
  throw new ProtocolError('METHOD_UNKNOWN', `The tool "${tool}" does not run as a task; call it without "params.task".`)
}

function taskNeeded(tool: string, { peer }: Call): ProtocolError {
  if (peer.era === 'legacy') {
    return new ProtocolError('METHOD_UNKNOWN', `The tool "${tool}" runs only as a task; call it with "params.task".`)
  }
  return new ProtocolError(
    'CAPABILITY_MISSING',
    `The tool "${tool}" runs only as a task, which this client declares not to understand.`,
    {
      requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
    },
  )
}
