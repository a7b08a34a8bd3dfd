/** Whether a host name or address is this machine's own and reaches no other. */
export function isLocalHost(host: string): boolean {
  return /^(?:localhost|(?:::ffff:)?127\.\d+\.\d+\.\d+|\[?::1\]?|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/i.test(host)
}
