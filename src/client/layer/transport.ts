/** The common part of the transports of the official SDKs, versions 1 and 2, and the type of a layer. */
import type { Json, RequestId } from '../../protocol/index.ts'

/** A JSON-RPC message as it passes through a layer. It is an object; its members are unchecked. */
export type WireMessage = Json & { readonly id?: RequestId; readonly method?: string }

/** The options that a client gives its transport with a message. Each SDK has its own; a layer passes them on. */
export type SendOptions = Readonly<Record<string, unknown>>

/** A transport of the official SDK: the common part of versions 1 and 2. */
export interface Transport {
  start(): Promise<void>
  send(message: WireMessage, options?: SendOptions): Promise<void>
  close(): Promise<void>
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: WireMessage, extra?: unknown) => void) | undefined
  sessionId?: string | undefined
  setProtocolVersion?: ((version: string) => void) | undefined
}

/** A function from a transport to a transport of the same type. It sees each message in both directions. */
export type Layer = <T extends object>(transport: T) => T

/** Whether a transport starts the server as a child process. The SDK recognises them by the same two members. */
export function hasProcess(transport: object): boolean {
  return 'pid' in transport && 'stderr' in transport
}
