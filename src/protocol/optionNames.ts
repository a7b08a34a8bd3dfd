/** Refuses unknown options: a misspelt option would silently have no effect. */

/** All names of an options type. The compiler checks that none is missing. */
export type OptionNames<T> = Readonly<Record<keyof T, true>>

/** `what` names the options in the error: `The tool "add"`. */
export function assertOptionNames<T extends object>(given: T, names: OptionNames<T>, what: string): void {
  if (typeof given !== 'object' || given === null) throw new TypeError(`${what} needs an object of options.`)
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(names, name))
      throw new TypeError(`${what} has no option "${name}"${nameAdvice(name, Object.keys(names))}`)
  }
}

/** The options with these names. */
export function optionsNamed<T extends object>(given: T, names: OptionNames<T>): T {
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(names, name))) as T
}

/** The end of a sentence about an unknown name: the nearest known name, or else all of them. */
export function nameAdvice(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  return nearest === undefined ? `. It has: ${known.join(', ')}.` : `; did you mean "${nearest}"?`
}

/** The most similar known name; undefined if no name is similar. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  return known
    .map((each) => ({ each, distance: distance(name.toLowerCase(), each.toLowerCase()) }))
    .filter(({ each, distance: edits }) => contains(name, each) || edits <= Math.max(2, Math.floor(each.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)[0]?.each
}

/** Whether one typing mistake makes a name of the other: a character too many, too few or another, two swapped, or its case. */
export function isOneTypo(name: string, known: string): boolean {
  if (name === known) return false
  const [typed, meant] = [name.toLowerCase(), known.toLowerCase()]
  return distance(typed, meant) <= 1 || isSwapped(typed, meant)
}

function isSwapped(typed: string, meant: string): boolean {
  let at = 0
  while (at < typed.length && typed[at] === meant[at]) at++
  return typed === `${meant.slice(0, at)}${meant[at + 1]}${meant[at]}${meant.slice(at + 2)}`
}

/** `inputSchema` contains `input`. */
function contains(name: string, known: string): boolean {
  return known.length > 3 && name.toLowerCase().includes(known.toLowerCase())
}

/** How many characters have to be added, removed or replaced to get from one text to the other (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, replaced))
    }
    row = next
  }
  return row[to.length] as number
}
