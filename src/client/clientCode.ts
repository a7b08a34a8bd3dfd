import { isObject } from '../protocol/index.ts'
import { type ClientCode, ClientError } from './errors.ts'
import { ownCode } from './layer/message.ts'

/**
 * The code of an error of this folder: one that was thrown, or one that a layer gave as the answer to a request. What a
 * server writes into its own errors is none.
 */
export function clientCode(error: unknown): ClientCode | undefined {
  if (error instanceof ClientError) return error.code
  return isObject(error) ? ownCode(error['data']) : undefined
}
