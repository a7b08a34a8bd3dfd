/**
 * Works on all items, so many at a time. Comes back, or throws the first fault, when nothing is at work any more: what was
 * started then has been cleaned up.
 */
export async function together<T, R>(limit: number, items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const left = items.entries()
  const done: R[] = []
  const faults: unknown[] = []
  const one = async (): Promise<void> => {
    for (const [at, item] of left) {
      try {
        done[at] = await work(item)
      } catch (fault) {
        faults.push(fault)
      }
    }
  }
  await Promise.all(Array.from({ length: limit }, one))
  if (faults.length > 0) throw faults[0]
  return done
}
