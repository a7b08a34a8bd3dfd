import type { JarNews } from '../state/jar/index.ts'
import type { Refused } from './scope/layer.ts'

/** An event that a host may want to log. None of them makes a call fail. */
export type Notice =
  /** A request of the server was refused, because it belongs to no request of the client. */
  | { readonly kind: 'refused'; readonly refused: Refused }
  /** The jar refused or evicted state of the server. */
  | { readonly kind: 'jar'; readonly news: JarNews }
  /** No state is kept for this server, and why. */
  | { readonly kind: 'unkept'; readonly reason: string }
  /** An error that is not the answer to a request. */
  | { readonly kind: 'error'; readonly error: Error }
  /** A line that the server's process wrote to standard error. It is unchanged, so it is not safe for a terminal. */
  | { readonly kind: 'stderr'; readonly line: string }
