/**
 * Full-text ranking of short documents by BM25 (k1 1.2, b 0.75): words that few documents have count more, and words of
 * a long text count less. The order is always the same for the same documents and the same query.
 */

/** A part of a document. A word of it counts `weight` times. */
export interface RankedField {
  readonly text: string
  readonly weight: number
}

export interface Ranking {
  /** The numbers of the documents that have a word of the query, the best first. */
  search(query: string): readonly number[]
}

const K1 = 1.2
const B = 0.75
// `repo` also finds `repository`, which counts less than the word itself.
const BEGINNING_COUNTS = 0.5
const MIN_BEGINNING = 3
const MAX_QUERY_WORDS = 32

interface RankedDocument {
  readonly counts: ReadonlyMap<string, number>
  readonly length: number
}

export function createRanking(documents: readonly (readonly RankedField[])[]): Ranking {
  const counted = documents.map(countWords)
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length)
  const frequency = new Map<string, number>()
  for (const { counts } of counted)
    for (const word of counts.keys()) frequency.set(word, (frequency.get(word) ?? 0) + 1)

  const scoreOf = (word: string, { counts, length }: RankedDocument): number => {
    const count = counts.get(word) ?? 0
    const having = frequency.get(word) ?? 0
    const rarity = Math.log(1 + (counted.length - having + 0.5) / (having + 0.5))
    return (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / average))
  }

  /** The words that a word of the query finds, and how much they count. */
  const variantsOf = (word: string): readonly (readonly [string, number])[] => {
    const longer = word.length < MIN_BEGINNING ? [] : [...frequency.keys()].filter((each) => each.startsWith(word))
    return [...longer.filter((each) => each !== word).map((each) => [each, BEGINNING_COUNTS] as const), [word, 1]]
  }

  return {
    search: (query) => {
      const asked = [...new Set(wordsOf(query))].slice(0, MAX_QUERY_WORDS).map(variantsOf)
      const total = (document: RankedDocument): number =>
        asked.reduce((sum, variants) => {
          const scores = variants.map(([word, counts]) => counts * scoreOf(word, document))
          return sum + Math.max(...scores)
        }, 0)
      return counted
        .map((document, number) => ({ number, score: total(document) }))
        .filter(({ score }) => score > 0)
        .toSorted((a, b) => b.score - a.score || a.number - b.number)
        .map(({ number }) => number)
    },
  }
}

function countWords(fields: readonly RankedField[]): RankedDocument {
  const counts = new Map<string, number>()
  let length = 0
  for (const { text, weight } of fields) {
    for (const word of wordsOf(text)) {
      counts.set(word, (counts.get(word) ?? 0) + weight)
      length += weight
    }
  }
  return { counts, length }
}

/** `listPullRequests` is list, pull and request. Scripts without spaces between words give pairs of characters. */
function wordsOf(text: string): readonly string[] {
  const spaced = text.replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
  return [...spaced.toLowerCase().matchAll(/[\p{L}\p{M}\p{N}]+/gu)].flatMap(([word]) =>
    UNSPACED.test(word) ? pairsOf(word) : [singular(word)],
  )
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

function pairsOf(word: string): readonly string[] {
  const characters = Array.from(word)
  return characters.length < 2 ? characters : characters.slice(1).map((each, at) => `${characters[at]}${each}`)
}

function singular(word: string): string {
  if (/[^aeiou]ies$/.test(word) && word.length > 4) return `${word.slice(0, -3)}y`
  return word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word
}
