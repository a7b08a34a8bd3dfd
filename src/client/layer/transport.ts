/**
 * The transports of the official SDKs, v1 and v2 alike, by what they have in common. A layer is a function from a
 * transport to a transport: it sees each message both ways and leaves everything else as it is.
 */
import type { Json, RequestId } from '../../protocol/index.ts'

/** A JSON-RPC message as it passes through a layer. Nothing about it is certain but that it is an object. */
export type WireMessage = Json & { readonly id?: RequestId; readonly method?: string }

/** What a transport is told along with a message; each SDK has its own. A layer hands it on. */
export type SendOptions = Readonly<Record<string, unknown>>

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

/** Gives a transport of the same kind, with something added. */
export type Layer = <T extends object>(transport: T) => T

/** Whether a transport starts the server as a child process. The SDK tells such transports by the same two members. */
export function hasProcess(transport: object): boolean {
  return 'pid' in transport && 'stderr' in transport
}
