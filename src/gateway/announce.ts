/** What is said of servers in the log, once for all workers of a gateway. */
import type { Logger } from '../server/internal.ts'

/**
 * Says what is true of a topic from now on, by calling `say`; undefined where nothing is any longer. A worker does not say
 * what another one has said and what is still true there.
 */
export type Announce = (topic: string, text: string | undefined, say: () => void) => void

/** The log of a gateway, as far as it is about servers. */
export interface ServerLog {
  readonly logger: () => Logger
  /** Workers know what others of them have said. @default everything is said */
  readonly announce?: Announce | undefined
}

export function announce(log: ServerLog, ...[topic, text, say]: Parameters<Announce>): void {
  if (log.announce !== undefined) log.announce(topic, text, say)
  else if (text !== undefined) say()
}
