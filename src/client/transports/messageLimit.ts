/** The largest message that is taken from a server, however it comes. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
