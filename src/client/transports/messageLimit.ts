/** The largest message that is accepted from a server, over HTTP or from a process. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
