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

/** The documents that have a word, and how much it counts in each. */
type Postings = ReadonlyMap<number, number>

export function createRanking(documents: readonly (readonly RankedField[])[]): Ranking {
  const { postings, lengths } = indexOf(documents)
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length)
  const vocabulary = [...postings.keys()]

  /** The words that a word of the query finds, and how much they count. */
  const variantsOf = (word: string): readonly (readonly [string, number])[] => {
    const longer = word.length < MIN_BEGINNING ? [] : vocabulary.filter((each) => each.startsWith(word))
    return [...longer.filter((each) => each !== word).map((each) => [each, BEGINNING_COUNTS] as const), [word, 1]]
  }

  /** The best that a word of the query, or one that begins with it, scores in each document. */
  const scoresOf = (word: string): ReadonlyMap<number, number> => {
    const scores = new Map<number, number>()
    for (const [variant, counts] of variantsOf(word)) {
      const having: Postings = postings.get(variant) ?? new Map<number, number>()
      const rarity = Math.log(1 + (lengths.length - having.size + 0.5) / (having.size + 0.5))
      for (const [document, count] of having) {
        const share = (lengths[document] ?? 0) / average
        const score = (counts * rarity * count * (K1 + 1)) / (count + K1 * (1 - B + B * share))
        scores.set(document, Math.max(score, scores.get(document) ?? 0))
      }
    }
    return scores
  }

  return {
    search: (query) => {
      const totals = new Map<number, number>()
      for (const word of [...new Set(wordsOf(query))].slice(0, MAX_QUERY_WORDS))
        for (const [document, score] of scoresOf(word)) totals.set(document, (totals.get(document) ?? 0) + score)
      return [...totals].toSorted(([a, scoreA], [b, scoreB]) => scoreB - scoreA || a - b).map(([document]) => document)
    },
  }
}

function indexOf(documents: readonly (readonly RankedField[])[]) {
  const postings = new Map<string, Map<number, number>>()
  const lengths = documents.map((fields, document) => {
    let length = 0
    for (const { text, weight } of fields) {
      for (const word of wordsOf(text)) {
        const having = postings.get(word) ?? new Map<number, number>()
        postings.set(word, having.set(document, (having.get(document) ?? 0) + weight))
        length += weight
      }
    }
    return length
  })
  return { postings, lengths }
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
