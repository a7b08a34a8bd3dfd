/** What is said of a server in the log, once for all workers of a gateway. */

/**
 * Says what is true of a topic from now on, by calling `log`; undefined where nothing is any longer. A worker does not say
 * what another one has said and what is still true there.
 */
export type Announce = (topic: string, text: string | undefined, log: () => void) => void

/** For a gateway of one process. */
export const announceAlways: Announce = (_, text, log) => {
  if (text !== undefined) log()
}
