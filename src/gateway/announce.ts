/** Log sentences about servers, once for all workers of a gateway. */
import type { Logger } from '../server/internal.ts'

/**
 * Logs the current state of a topic by calling `say`; `text` is undefined when the topic is settled. A worker does not
 * repeat a sentence that another worker has logged and not withdrawn.
 */
export type Announce = (topic: string, text: string | undefined, say: () => void) => void

/** The part of a gateway's log that is about servers. */
export interface ServerLog {
  readonly logger: () => Logger
  /** Suppresses sentences that another worker has logged. @default everything is logged */
  readonly announce?: Announce | undefined
}

export function announce(log: ServerLog, ...[topic, text, say]: Parameters<Announce>): void {
  if (log.announce !== undefined) log.announce(topic, text, say)
  else if (text !== undefined) say()
}
