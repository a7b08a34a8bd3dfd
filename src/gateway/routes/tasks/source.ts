/** The tasks of one server behind the gateway, whichever of the two dialects it speaks. Ids are the server's own. */
import {
  declaresTasks,
  isObject,
  type Json,
  offersTasks,
  ProtocolError,
  TASKS_EXTENSION,
} from '../../../protocol/index.ts'
import type { Call } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import type { Relayed } from '../../links/relayed.ts'
import { CallState } from '../clientState.ts'
import { relayedOf } from '../relayedCall.ts'

export interface TaskSource {
  /** The task in the form of the session era. */
  status(call: Call, id: string): Promise<Json>
  /** The task with its questions, result or error, in the form of the tasks extension. */
  whole(call: Call, id: string): Promise<Json>
  /**
   * Waits for the end, and asks a session-era client the questions of the task. `exposed`: the id that the client
   * knows.
   */
  result(call: Call, id: string, exposed: string): Promise<Json>
  answer(call: Call, id: string, responses: Json): Promise<void>
  cancel(call: Call, id: string): Promise<void>
}

/** Sends a request about tasks for a call, with the client's state for the server. */
export async function requestFor(
  backend: Backend,
  call: Call,
  { method, ...sent }: Pick<Relayed, 'method' | 'params'> & Partial<Relayed>,
): Promise<Json> {
  const state = new CallState(backend, call)
  const relayed = relayedOf({ call: { ...call, method }, trace: {} }, sent.params, { state })
  const answer = await backend.request({ ...relayed, ...sent, params: relayed.params })
  const { result } = answer
  // Prefixes the names in the server's state changes: those of the answer, and those of the result within it.
  const named = state.result(answer)
  return isObject(result) ? { ...named, result: state.result(result) } : named
}

export interface DeclaringServer extends Pick<Backend, 'era'> {
  readonly connector: Pick<Backend['connector'], 'about'>
}

/** Whether a server declares that calls may become tasks. */
export function takesTasks({ connector, era }: DeclaringServer): boolean {
  return offersTasks(era, connector.about?.capabilities ?? {})
}

/** Whether a session-era server lists the tasks of a session. */
export function listsTasks({ connector, era }: DeclaringServer): boolean {
  return era === 'legacy' && isObject(memberOf(connector.about?.capabilities ?? {}, 'tasks')['list'])
}

/** A tool's declared support for tasks. */
export function taskSupportOf(listed: Json | undefined): 'optional' | 'required' | 'never' {
  const { taskSupport } = memberOf(listed ?? {}, 'execution')
  return taskSupport === 'optional' || taskSupport === 'required' ? taskSupport : 'never'
}

/**
 * The `execution` of a tool in session-era lists. A server of the stateless era decides with each call whether it
 * becomes a task.
 */
export function taskListing(backend: DeclaringServer, listed: Json): Json {
  if (!takesTasks(backend)) return { execution: undefined }
  if (backend.era === 'legacy') return {}
  return { execution: { ...memberOf(listed, 'execution'), taskSupport: 'optional' } }
}

function memberOf(object: object, name: string): Json {
  const value: unknown = (object as Json)[name]
  return isObject(value) ? value : {}
}

/**
 * Whether a call of a tool is to become a task at its server, and in which dialect:
 *
 * - `plain`: no task is requested. A server of the stateless era may still make one if the client accepts tasks.
 * - `extension`: the gateway accepts tasks for its client.
 * - `session`: the call asks for a task, as revision 2025-11-25 has it.
 */
export type RelayedTaskMode = 'plain' | 'extension' | 'session'

export interface CalledTool {
  readonly backend: Backend
  readonly name: string
  readonly listed?: Json
}

export function taskModeOf(
  { peer, params, forwardedBy }: Call,
  { backend, name, listed }: CalledTool,
): RelayedTaskMode {
  // Another gateway has chosen this mode for its session-era client.
  if (forwardedBy && isObject(params['task']) && backend.era === 'legacy') return 'session'
  const support = takesTasks(backend) ? taskSupportOf(listed) : 'never'
  if (peer.era === 'legacy') {
    if (!isObject(params['task'])) return 'plain'
    if (support !== 'never') return backend.era === 'legacy' ? 'session' : 'extension'
    throw new ProtocolError(
      'METHOD_UNKNOWN',
      `The tool "${name}" does not run as a task; call it without "params.task".`,
    )
  }
  // A tool that need not be a task is called without one: its questions park the call, and the client needs no support
  // for tasks.
  if (support !== 'required' || backend.era === 'modern') return 'plain'
  if (declaresTasks(peer.capabilities)) return 'session'
  throw new ProtocolError(
    'CAPABILITY_MISSING',
    `The tool "${name}" runs only as a task, and this client does not declare that it supports tasks.`,
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  )
}
