/** Values of the largest size that an endpoint reads, each of another shape. */

// Below the largest body, and the most keys and values that are read: these are all of a request.
export const CHARS = 3_900_000
const ITEMS = 19_800
const KEYS = ITEMS / 2

/** So often that it has this many characters. */
export function long(part: string, chars = CHARS): string {
  return part.repeat(Math.floor(chars / part.length))
}

/** `key` gives keys in an order that is not theirs. */
export function objectOf<T>(count: number, key: (index: number) => string, value: T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [key((index * 7919) % 100_000), value]))
}

export function nestedIn(levels: number, value: unknown): unknown {
  let nested = value
  for (let level = 0; level < levels; level++) nested = [nested]
  return nested
}

export const manyKeys = () => objectOf(KEYS, (index) => `${index}k`.padEnd(380, 'k'), 1)
export const wideKeys = () => objectOf(KEYS, (index) => `${index}`.padEnd(126, '字'), 1)
export const escapedKeys = () => objectOf(KEYS, (index) => `${index}`.padEnd(190, '\n'), 1)
export const numberKeys = () => objectOf(KEYS, (index) => `${index}`, 1)
export const namedTexts = () => objectOf(KEYS, (index) => `${index}`.padEnd(190, 'k'), 'v'.repeat(180))
export const manyTexts = () => Array.from({ length: ITEMS - 200 }, (_, index) => `${index}`.padEnd(95, 'é'))
export const manyNumbers = () => Array.from({ length: ITEMS - 200 }, (_, index) => index * 1e-7 + 1 / 3)
export const manyObjects = () => Array.from({ length: ITEMS / 6 }, (_, index) => ({ index, text: 'x'.repeat(1000) }))
export const deepLists = () => Array.from({ length: ITEMS / 130 }, () => nestedIn(110, 'x'.repeat(22_000)))
export const emptyObjects = () => `[${long('{},', CHARS - 10)}{}]`
