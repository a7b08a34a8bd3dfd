/**
 * Full-text ranking of short documents by BM25 (k1 1.2, b 0.75): rare words count more, and words of a long text count
 * less. The order is deterministic for the same documents and query.
 */

import { inSlices } from '../../protocol/index.ts'

/** A part of a document; each of its words counts `weight` times. */
export interface RankedField {
  readonly text: string
  readonly weight: number
}

export interface Ranking {
  /** The numbers of the documents with a word of the query, best first. */
  search(query: string): Promise<readonly number[]>
}

const K1 = 1.2
const B = 0.75
// `order` also finds `orders`, and `repo` finds `repository`; both count less than the word itself.
const OTHER_FORM_COUNTS = 0.8
const BEGINNING_COUNTS = 0.5
const MIN_BEGINNING = 3
const MAX_QUERY_WORDS = 32
const MAX_BEGINNINGS = 5000

/** The documents with a word, and its weight in each. */
type Postings = ReadonlyMap<number, number>

/** Indexes and searches in time slices, as there may be many documents and words. */
export async function createRanking(documents: readonly (readonly RankedField[])[]): Promise<Ranking> {
  const index = new WordIndex()
  await inSlices(documents, (fields) => index.add(fields))
  return {
    search: async (query) => {
      const totals = new Map<number, number>()
      for (const word of queryWords(query)) {
        const scores = new Map<number, number>()
        await inSlices(index.variantsOf(word), ([variant, counts]) => index.score(variant, counts, scores))
        for (const [document, score] of scores) totals.set(document, (totals.get(document) ?? 0) + score)
      }
      return [...totals].toSorted(([a, scoreA], [b, scoreB]) => scoreB - scoreA || a - b).map(([document]) => document)
    },
  }
}

class WordIndex {
  readonly #postings = new Map<string, Map<number, number>>()
  /** Words by their beginnings. */
  readonly #beginnings = new Map<string, string[]>()
  readonly #lengths: number[] = []
  #length = 0

  add(fields: readonly RankedField[]): void {
    const document = this.#lengths.length
    let length = 0
    for (const { text, weight } of fields) {
      for (const word of wordsOf(text)) {
        const having = this.#postings.get(word) ?? this.#enter(word)
        having.set(document, (having.get(document) ?? 0) + weight)
        length += weight
      }
    }
    this.#lengths.push(length)
    this.#length += length
  }

  /** The words that a word of the query matches, with their weights. */
  variantsOf(word: string): readonly (readonly [string, number])[] {
    const near = word.length < MIN_BEGINNING ? [] : (this.#beginnings.get(word.slice(0, MIN_BEGINNING)) ?? [])
    const one = singular(word)
    const others = near.filter((each) => each !== word && each.startsWith(one))
    const forms = others.filter((each) => singular(each) === one)
    const longer = others.filter((each) => each.startsWith(word) && singular(each) !== one)
    return [
      ...longer.map((each) => [each, BEGINNING_COUNTS] as const),
      ...forms.map((each) => [each, OTHER_FORM_COUNTS] as const),
      [word, 1],
    ]
  }

  /** Records in each document the best score of a word of the query, or of a word that begins with it. */
  score(variant: string, counts: number, scores: Map<number, number>): void {
    const having: Postings = this.#postings.get(variant) ?? new Map<number, number>()
    const documents = this.#lengths.length
    const rarity = Math.log(1 + (documents - having.size + 0.5) / (having.size + 0.5))
    for (const [document, count] of having) {
      const share = ((this.#lengths[document] ?? 0) * documents) / this.#length
      const score = (counts * rarity * count * (K1 + 1)) / (count + K1 * (1 - B + B * share))
      scores.set(document, Math.max(score, scores.get(document) ?? 0))
    }
  }

  #enter(word: string): Map<number, number> {
    const having = new Map<number, number>()
    this.#postings.set(word, having)
    const beginning = word.slice(0, MIN_BEGINNING)
    const same = this.#beginnings.get(beginning) ?? []
    // Beyond this number only whole words are found, because each word of a query scans all of them.
    if (same.length < MAX_BEGINNINGS) same.push(word)
    this.#beginnings.set(beginning, same)
    return having
  }
}

const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about all an and any are as at be been by can could did do does for from had has have how i if in into is it its
  let me my need not of on onto or our please should so some than that the then there these this those to want was we
  what when where which who whom why will with would you your`.split(/\s+/),
)

/** The distinct words of a query; stop words count only if there are no others. */
function queryWords(query: string): readonly string[] {
  const words = [...new Set(wordsOf(query))]
  const counting = words.filter((word) => !STOP_WORDS.has(word))
  return (counting.length === 0 ? words : counting).slice(0, MAX_QUERY_WORDS)
}

/** `listPullRequests` is list, pull and request. Scripts without spaces between words give pairs of characters. */
function wordsOf(text: string): readonly string[] {
  const spaced = text.replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
  return [...spaced.toLowerCase().matchAll(/[\p{L}\p{M}\p{N}]+/gu)].flatMap(([word]) =>
    UNSPACED.test(word) ? pairsOf(word) : [word],
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
