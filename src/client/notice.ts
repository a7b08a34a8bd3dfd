import type { JarNews } from '../state/jar/index.ts'
import type { Refused } from './scope/layer.ts'

/** Something beside the calls that a host may want to log. None of them breaks a call. */
export type Notice =
  /** A request of the server that belongs to no request of ours. */
  | { readonly kind: 'refused'; readonly refused: Refused }
  /** State that was not kept, or not any more. */
  | { readonly kind: 'jar'; readonly news: JarNews }
  /** Why no state is kept for this server at all. */
  | { readonly kind: 'unkept'; readonly reason: string }
  /** What went wrong and is the answer to nothing. */
  | { readonly kind: 'error'; readonly error: Error }
  /** A line that the server's process wrote to its standard error. As it came: not safe for a terminal. */
  | { readonly kind: 'stderr'; readonly line: string }
