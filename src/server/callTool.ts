import { Declined, isRoundEnded, JournalError } from '../journal/index.ts'
import {
  assertParamHeaders,
  type HeaderReader,
  isObject,
  type Json,
  type ParamHeader,
  ProtocolError,
} from '../protocol/index.ts'
import { StateError } from '../state/index.ts'
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { Call } from './call.ts'
import type { Schema } from './checkedSchema.ts'
import { failure, text } from './content.ts'
import type { ToolReturn } from './definitions.ts'
import type { ToolEntry } from './entries.ts'
import { errorDetails } from './errorDetails.ts'
import { ServerError } from './errors.ts'
import type { InputRequired } from './inputRequired.ts'
import type { Logger } from './logger.ts'
import type { MultiRound } from './multiRound.ts'
import type { Registry } from './registry.ts'
import type { Results } from './results.ts'

export interface CallToolOptions {
  readonly registry: Registry
  readonly rounds: MultiRound
  readonly results: Results
  readonly exposeErrors: boolean
  readonly logger: () => Logger
}

/** tools/call: find the tool, check headers and arguments, run a round of its handler. */
export function callTool(options: CallToolOptions) {
  const { registry, rounds, results } = options
  return async (call: Call): Promise<string> => {
    const { name, args } = readToolCall(call.params)
    const entry = registry.tools.get(name)
    if (entry === undefined) throw new ProtocolError('PARAMS_INVALID', `There is no tool "${name}".`)
    if (call.header !== undefined) assertParamHeaders(mirroredBy(call, entry, call.header), args, call.header)
    const checking = entry.input === undefined ? { ok: true as const, value: args } : entry.input.check(args)
    const checked = checking instanceof Promise ? await checking : checking
    // A model can mend its arguments only if it is told what was wrong, so this is a result and not a protocol error.
    if (!checked.ok)
      return results.complete(noted(call, failure(`The arguments do not fit: ${checked.issues}`)), call.peer)
    return rounds.play<Exclude<ToolReturn, InputRequired>>(call, {
      subject: { name, args },
      invoke: (ctx) => entry.handler(checked.value, ctx),
      finish: (value) => finishTool(entry, value, call),
      rescue: (error) => noted(call, rescueTool(entry, error, call, options)),
    })
  }
}

/** Session-era clients know nothing of mirrored parameters; where one is sent all the same, it must not lie. */
function mirroredBy({ peer }: Call, { mirrored }: ToolEntry, header: HeaderReader): readonly ParamHeader[] {
  return peer.era === 'modern' ? mirrored : mirrored.filter(({ field }) => header(field) !== undefined)
}

function readToolCall(params: Json): { name: string; args: Json } {
  const { name, arguments: args = {} } = params
  if (typeof name !== 'string') throw new ProtocolError('PARAMS_INVALID', '"params.name" must be a string.')
  if (!isObject(args)) throw new ProtocolError('PARAMS_INVALID', '"params.arguments" must be an object.')
  return { name, args }
}

function finishTool(entry: ToolEntry, value: Exclude<ToolReturn, InputRequired>, call: Call): Json | Promise<Json> {
  const result = typeof value === 'string' ? text(value) : value
  if (!isObject(result) || !Array.isArray(result.content)) {
    throw invalidOutput(`The tool "${entry.name}" must return a string or a result with "content".`)
  }
  if (entry.output === undefined || result.isError === true) return noted(call, result)
  return checkedOutput(entry.name, entry.output, result).then(() => noted(call, result))
}

async function checkedOutput(name: string, output: Schema, { structuredContent }: CallToolResult): Promise<void> {
  if (structuredContent === undefined) {
    throw invalidOutput(
      `The tool "${name}" has an output schema, so it must return structured content: structured({ … }).`,
    )
  }
  const checked = await output.check(structuredContent)
  if (checked.ok) return
  // What does not fit names fields of the author's own data: it is for the log, and stays out of the answer.
  throw invalidOutput(
    `The tool "${name}" returned structured content that its output schema does not allow.`,
    checked.issues,
  )
}

function invalidOutput(sentence: string, issues?: string): ServerError {
  const cause = issues === undefined ? undefined : { cause: new TypeError(issues) }
  return new ServerError('TOOL_OUTPUT_INVALID', sentence, cause)
}

/** Tells telemetry when a result says that the tool failed. */
function noted(call: Call, result: Json): Json {
  if (result['isError'] === true) call.notes?.toolFailed()
  return result
}

/** A tool that fails tells the model so; faults of the protocol stay errors. */
function rescueTool(entry: ToolEntry, error: unknown, call: Call, { exposeErrors, logger }: CallToolOptions): Json {
  if (error instanceof ProtocolError || error instanceof StateError) throw error
  if (error instanceof Declined) return failure(error.message)
  const details = { tool: entry.name, err: errorDetails(error) }
  // A tool that minds its signal throws when the client goes; that is no fault of anybody.
  if (call.channel.cancelled) logger().debug(details, 'A tool ended because its client went away.')
  else logger().error(details, 'A tool failed.')
  const known = error instanceof JournalError || error instanceof ServerError
  if (isRoundEnded(error)) return failure('The tool used the context of another call.')
  const message = error instanceof Error && (known || exposeErrors) ? error.message : 'The tool failed.'
  return failure(message || 'The tool failed.')
}
