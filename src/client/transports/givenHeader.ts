import { ClientError } from '../errors.ts'
import { plainLine } from '../safeText.ts'

/** Sets a header that somebody gave. Where it cannot be sent, the runtime's own error would quote its value. */
export function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value)
  } catch {
    const sentence = `The header "${plainLine(name, 60)}" cannot be sent: HTTP does not allow some character in it.`
    throw new ClientError('CONFIG_INVALID', sentence)
  }
}
