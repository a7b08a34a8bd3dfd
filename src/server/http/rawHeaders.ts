import type { HeaderReader } from '../../protocol/index.ts'

// Lower-case names by the spelling they came in: clients use few spellings, so most names are found here.
const lowerCase = new Map<string, string>()
const MAX_SPELLINGS = 500

/**
 * Names and values together. Node drops what comes after this many without a word, an Origin for instance, so a request
 * with as many cannot be judged.
 */
export const MAX_RAW_HEADERS = 2000

/**
 * Reads the headers of a `node:http` request. Its own `headers` object costs more than all our checks of them together,
 * and of a header sent twice it keeps only the first; here both show, so that nobody reads one and somebody the other.
 */
export function rawHeaderReader(raw: readonly string[]): HeaderReader {
  const names: string[] = []
  for (let at = 0; at < raw.length; at += 2) names.push(lowered(raw[at] as string))
  return (name) => {
    let found: string | undefined
    for (let index = names.indexOf(name); index >= 0; index = names.indexOf(name, index + 1)) {
      const value = raw[2 * index + 1]
      found = found === undefined ? value : `${found}, ${value}`
    }
    return found
  }
}

function lowered(name: string): string {
  const known = lowerCase.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  if (lowerCase.size < MAX_SPELLINGS) lowerCase.set(name, lower)
  return lower
}
