/** Whether a call of a tool is to become a task at its server, and in which dialect that is asked for. */
import { declaresTasks, isObject, type Json, ProtocolError, TASKS_EXTENSION } from '../../../protocol/index.ts'
import type { Call } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { takesTasks, taskSupportOf } from './source.ts'

/**
 * - `plain`: a call like any other. A server of the stateless era may still make a task of it where its client declares
 *   that it takes them.
 * - `extension`: the gateway declares for its client that it takes tasks.
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
  // Another gateway has found this for its client of the session era.
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
  // Whatever else may be a task is a plain call: where it asks, the call waits, and that needs nothing of the client.
  if (support !== 'required' || backend.era === 'modern') return 'plain'
  if (declaresTasks(peer.capabilities)) return 'session'
  throw new ProtocolError(
    'CAPABILITY_MISSING',
    `The tool "${name}" runs only as a task, and this client does not declare that it supports tasks.`,
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  )
}
