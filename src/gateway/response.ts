import { isObject, type Json, RemoteError } from '../protocol/index.ts'

/** The result of a validated response. Throws its error as another server or replica wrote it. */
export function resultOf({ result, error }: Json): Json {
  if (isObject(result)) return result
  const { code, message, data } = error as { code: number; message: string; data?: unknown }
  throw new RemoteError(code, message, data)
}
