/**
 * Where sealed journals lie when the server carries them itself. It holds tokens, which stay sealed, so whoever reads
 * the store learns no answers, and what it gives back is checked as if the peer had sent it.
 */
export interface CarryStore {
  /** Keeps a token until a time, in seconds; the last put under an id stands. */
  put(id: string, token: string, expiresAt: number): Promise<void>
  /** The token, or undefined when there is none or its time is over. */
  get(id: string): Promise<string | undefined>
  delete(id: string): Promise<void>
}
