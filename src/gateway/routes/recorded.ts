/** What the log, the metrics and the audit log say of a call. */
import { isObject, type Json } from '../../protocol/index.ts'
import type { Call } from '../../server/internal.ts'
import type { CallTarget } from '../telemetry/metrics.ts'
import type { BackendTarget } from './contents.ts'

/** The target for the records. Addresses of resources may hold secrets, so none is recorded. */
export function recordedTarget({ method }: Call, { backend, name, listed }: BackendTarget): CallTarget {
  const isNamed = method === 'tools/call' || method === 'prompts/get'
  return { server: backend.name, name: isNamed ? name : undefined, isListed: listed !== undefined }
}

/** What a call asks its server for, for the audit log: the arguments of a tool or prompt, or the address of a resource. */
export function recordedArguments({ arguments: args, uri }: Json): Json | undefined {
  if (isObject(args)) return args
  return uri === undefined ? undefined : { uri }
}
