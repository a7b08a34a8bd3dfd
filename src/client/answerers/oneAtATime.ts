/** Those who wait for a thing, in the order they came. Two answerers of one terminal share its queue. */
const tails = new WeakMap<object, Promise<unknown>>()

/** Runs `task` when everything that came before it for `thing` is over. Who gives up in the queue leaves it at once. */
export async function oneAtATime<Result>(
  thing: object,
  signal: AbortSignal,
  task: () => Promise<Result>,
): Promise<Result> {
  const before = tails.get(thing) ?? Promise.resolve()
  const mine = before.then(() => {
    signal.throwIfAborted()
    return task()
  })
  tails.set(
    thing,
    mine.catch(() => undefined),
  )
  return await Promise.race([mine, abortOf(signal, before)])
}

/** Rejects when the signal aborts before the turn comes; after that the task itself looks at the signal. */
function abortOf(signal: AbortSignal, turn: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => {
    const giveUp = (): void => reject(signal.reason as Error)
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    void turn.then(() => signal.removeEventListener('abort', giveUp))
  })
}
