/** Whether a call of a tool becomes a task. */
import { declaresTasks, isObject, ProtocolError, TASKS_EXTENSION } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import type { TaskOptions } from '../catalog/definitions.ts'

/** `at-once`: before the handler runs. `detachable`: when the handler says so. */
export type Becoming = 'at-once' | 'detachable' | 'never'

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
