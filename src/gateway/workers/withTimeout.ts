/** A worker has not answered in time. */
export class SilentWorkerError extends Error {
  constructor() {
    super('The worker does not answer.')
  }
}

/** Rejects when an answer of a worker takes too long. */
export function withTimeout<T>(work: Promise<T>, withinMs: number): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new SilentWorkerError()), withinMs)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}
