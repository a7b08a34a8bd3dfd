import { Declined, isRoundEnded, type Journal, JournalError } from '../../journal/index.ts'
import {
  assertParamHeaders,
  declaresTasks,
  type HeaderReader,
  isObject,
  type Json,
  type ParamHeader,
  ProtocolError,
  TASKS_EXTENSION,
} from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { type Call, isLaterRound } from '../call.ts'
import type { Checked } from '../schema/check.ts'
import type { Schema } from '../schema/schema.ts'
import { contentIssue, failure, text } from '../catalog/content.ts'
import type { TaskOptions, ToolReturn } from '../catalog/definitions.ts'
import type { ToolEntry } from '../catalog/entries.ts'
import { errorDetails, type Logger, shortened } from '../logger.ts'
import { ServerError, UnwritableResultError } from '../errors.ts'
import { assertNeeds } from '../handler/askable.ts'
import type { InputRequired } from '../handler/questions.ts'
import type { RoundRunner, Invocation, WaitElsewhere } from './rounds.ts'
import type { AccessControl } from '../catalog/accessControl.ts'
import type { Registry } from '../catalog/registry.ts'
import type { Results } from '../results.ts'
import type { DeferredCalls, DeferredTool, TaskService } from '../taskPort.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { isUnanswered } from '../wireErrors.ts'

export interface CallToolOptions {
  readonly registry: Registry
  readonly access: AccessControl
  readonly rounds: RoundRunner
  readonly results: Results
  readonly exposeErrors: boolean
  readonly logger: () => Logger
  readonly telemetry: Telemetry | undefined
  /** Absent if no call becomes a task. */
  readonly tasks: () => TaskService | undefined
  /** Absent if calls do not wait for people. */
  readonly waiting: () => DeferredCalls | undefined
}

/** tools/call: find the tool, check headers and arguments, run a round of its handler or make a task of the call. */
export function callTool(options: CallToolOptions) {
  const { registry, access } = options
  return (call: Call): string | Promise<string> => {
    const { name, args } = readToolCall(call.params)
    const entry = registry.tools.get(name)
    if (entry === undefined) throw unknownTool(name)
    if (entry.access !== undefined) access.assertAllowed(entry.access, call, () => unknownTool(name))
    if (call.header !== undefined) assertParamHeaders(mirroredBy(call, entry, call.header), args, call.header)
    const checking = checkArguments(entry, args)
    if (!(checking instanceof Promise)) return runChecked(entry, call, args, checking, options)
    return checking.then((checked) => runChecked(entry, call, args, checked, options))
  }
}

function runChecked(
  entry: ToolEntry,
  call: Call,
  args: Json,
  checked: Checked,
  options: CallToolOptions,
): string | Promise<string> {
  // A result instead of a protocol error, because a model must read the problem to correct its arguments.
  if (!checked.ok) return options.results.complete(observed(call, unfit(checked.issues)), call.peer)
  const round = toolRound(entry, call, checked.value, options)
  const waiting = options.waiting()
  return waiting === undefined
    ? runTool(entry, call, args, round, options)
    : runDeferrable(entry, call, args, round, waiting, options)
}

/** Runs a call that may wait for a person if its client cannot ask. */
async function runDeferrable(
  entry: ToolEntry,
  call: Call,
  args: Json,
  round: Invocation<Finished>,
  waiting: DeferredCalls,
  options: CallToolOptions,
): Promise<string> {
  const waits: DeferredTool = { tool: entry.name, args, hasOutput: entry.output !== undefined }
  const again = isLaterRound(call) ? undefined : await waiting.again(call, waits)
  if (again !== undefined) return again
  const wait: WaitElsewhere = (journal, responses) =>
    waiting.wait(carried(call), { ...waits, responses, mayAsk: responses !== undefined }, journal).catch(throwRefusal)
  return runTool(entry, call, args, { ...round, wait }, options)
}

/** Runs the handler once, or makes a task of the call. */
function runTool(
  { name, needs, task }: ToolEntry,
  call: Call,
  args: Json,
  round: Invocation<Finished>,
  { tasks: tasksOf, rounds }: CallToolOptions,
): string | Promise<string> {
  const tasks = tasksOf()
  const { subject, wait } = round
  const create = tasks && ((journal: Journal) => tasks.create(carried(call), { tool: name, args, journal }))
  const detach = create && ((journal: Journal) => create(journal).catch(throwRefusal))
  const mode = detach === undefined ? 'never' : taskModeOf(name, task, call, wait !== undefined)
  if (mode === 'at-once' && detach !== undefined) return rounds.createTask(call, subject, detach)
  if (mode === 'waiting' && wait !== undefined)
    return rounds.createTask(call, subject, async (journal) => (await wait(journal)) as string)
  assertNeeds(name, needs, call, wait !== undefined)
  return rounds.run(call, mode === 'detachable' ? { ...round, detach } : round)
}

/** `at-once`: before the handler runs. `detachable`: when the handler says so. `waiting`: at once, for a client that knows no tasks. */
type TaskMode = 'at-once' | 'detachable' | 'waiting' | 'never'

function taskModeOf(tool: string, support: TaskOptions | undefined, call: Call, canWait: boolean): TaskMode {
  const taken = takesTasks(call)
  if (support === undefined) return taken && call.peer.era === 'legacy' ? refuseTask(tool) : 'never'
  if (taken) return support.startsAs === 'call' ? 'detachable' : 'at-once'
  if (support.task === 'required') return canWait ? 'waiting' : refuseCall(tool, call)
  return 'never'
}

/**
 * Clients of the stateless era declare that they support tasks; those of the session era ask for a task with each call.
 */
function takesTasks({ peer, params }: Call): boolean {
  return peer.era === 'modern' ? declaresTasks(peer.capabilities) : isObject(params['task'])
}

function refuseTask(tool: string): never {
  throw new ProtocolError('METHOD_UNKNOWN', `The tool "${tool}" does not run as a task; call it without "params.task".`)
}

function refuseCall(tool: string, { peer }: Call): never {
  if (peer.era === 'legacy') {
    throw new ProtocolError('METHOD_UNKNOWN', `The tool "${tool}" runs only as a task; call it with "params.task".`)
  }
  throw new ProtocolError(
    'CAPABILITY_MISSING',
    `The tool "${tool}" runs only as a task, and this client does not declare that it supports tasks.`,
    {
      requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
    },
  )
}

/** The runs of a task belong to the trace of the call that made it. */
function carried(call: Call): Call {
  return call.observer === undefined ? call : { ...call, meta: call.observer.carried(call.meta) }
}

/** The caller learns only that no tasks are accepted. The log says what is damaged. */
function throwRefusal(cause: unknown): never {
  if (!(cause instanceof StateError) || cause.code !== 'STORE_CORRUPT') throw cause
  const sentence = 'The task store of this server does not work, so the call cannot become a task'
  throw new ServerError('TASK_STORE_BROKEN', `${sentence}. Call again when its operator has repaired it.`, { cause })
}

type Finished = Exclude<ToolReturn, InputRequired>

export function toolRound(
  entry: ToolEntry,
  call: Call,
  value: unknown,
  options: CallToolOptions,
): Invocation<Finished> {
  return {
    subject: { name: entry.name, args: call.params['arguments'] ?? {}, carry: entry.carry },
    hasTaskOption: entry.task !== undefined,
    invoke: (ctx) => entry.handler(value, ctx),
    finish: (result) => finishTool(entry, result, call, options),
    rescue: (error) => observed(call, rescueTool(entry, error, call, options)),
  }
}

export function checkArguments({ input }: ToolEntry, args: Json) {
  return input === undefined ? { ok: true as const, value: args } : input.check(args)
}

export function unfit(issues: string): CallToolResult {
  return failure(`The arguments do not fit: ${issues}`)
}

export function unknownTool(name: string): ProtocolError {
  return new ProtocolError('PARAMS_INVALID', `There is no tool "${shortened(name)}".`)
}

/** Session-era clients do not have to mirror parameters in headers; a header that is present must still match. */
function mirroredBy({ peer }: Call, { mirrored }: ToolEntry, header: HeaderReader): readonly ParamHeader[] {
  return peer.era === 'modern' ? mirrored : mirrored.filter(({ field }) => header(field) !== undefined)
}

function readToolCall(params: Json): { name: string; args: Json } {
  const { name, arguments: args = {} } = params
  if (typeof name !== 'string') throw new ProtocolError('PARAMS_INVALID', '"params.name" must be a string.')
  if (!isObject(args)) throw new ProtocolError('PARAMS_INVALID', '"params.arguments" must be an object.')
  return { name, args }
}

function finishTool(
  entry: ToolEntry,
  value: Finished,
  call: Call,
  { exposeErrors }: CallToolOptions,
): Json | Promise<Json> {
  const issue = typeof value === 'string' ? undefined : resultIssue(entry.name, value)
  if (issue !== undefined) throw invalidOutput(issue)
  const result = typeof value === 'string' ? text(value) : value
  if (entry.output === undefined || result.isError === true) return observed(call, result)
  return checkedOutput(entry.name, entry.output, result, exposeErrors).then(() => observed(call, result))
}

function resultIssue(name: string, result: unknown): string | undefined {
  if (!isObject(result) || !Array.isArray(result['content']))
    return `The tool "${name}" must return a string or a result with "content".`
  const issue = contentIssue(result['content'])
  return issue && `The content that the tool "${name}" returned is not valid: ${issue}`
}

async function checkedOutput(
  name: string,
  output: Schema,
  { structuredContent }: CallToolResult,
  exposeErrors: boolean,
): Promise<void> {
  if (structuredContent === undefined) {
    throw invalidOutput(
      `The tool "${name}" has an output schema, so it must return structured content: structured({ … }).`,
    )
  }
  const checked = await output.check(structuredContent)
  if (checked.ok) return
  // The issues name fields of the author's own data. The log has them in any case.
  const issues = exposeErrors ? `: ${checked.issues}` : '.'
  const sentence = `The tool "${name}" returned structured content that its output schema does not allow${issues}`
  throw invalidOutput(sentence, checked.issues)
}

function invalidOutput(sentence: string, issues?: string): ServerError {
  const cause = issues === undefined ? undefined : { cause: new TypeError(issues) }
  return new ServerError('TOOL_OUTPUT_INVALID', sentence, cause)
}

/** Notifies telemetry when a result says that the tool failed. */
export function observed(call: Call, result: Json): Json {
  if (result['isError'] === true) call.observer?.toolFailed()
  return result
}

/** The error of a tool becomes a result that the model can read; protocol errors stay errors. */
function rescueTool(entry: ToolEntry, thrown: unknown, call: Call, { exposeErrors, logger }: CallToolOptions): Json {
  const error = thrown instanceof UnwritableResultError ? thrown.ofTool(entry.name) : thrown
  if (error instanceof ProtocolError || error instanceof StateError) throw error
  if (error instanceof Declined) return failure(error.message)
  const task = call.channel.progress && { task: call.id }
  const details = { tool: entry.name, ...task, err: errorDetails(error) }
  // A tool that uses its signal throws when the client disconnects; that is not an error of the tool.
  if (call.channel.cancelled) logger().debug(details, 'A tool ended because its client disconnected.')
  else if (isUnanswered(error)) logger().debug(details, 'A tool ended because its question got no answer.')
  else logger().error(details, 'A tool failed.')
  const known = error instanceof JournalError || error instanceof ServerError
  if (isRoundEnded(error)) return failure('The tool used the context of another call.')
  return failure((known || exposeErrors ? messageOf(error) : '') || 'The tool failed.')
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  return error instanceof Error ? error.message : ''
}
