/**
 * Prints the messages of a demo, and below each how it differs from the document: the members, with the values that the
 * document has for them, and the reason. A difference without a reason ends the demo, and so does a reason that is not used.
 */
import { headline, note, say } from '../work-items/show.ts'
import { type Difference, differencesOf } from './compare.ts'
import { formatJson, oneLine } from './formatJson.ts'

/** Why a member differs from the document, by the path of it or the beginning of its path: `result.requestState`. */
export type Reasons = Readonly<Record<string, string>>

export type Message = object

const INDENT = '       '

export class Transcript {
  readonly #reasons: Reasons
  readonly #used = new Set<string>()
  readonly #explained = new Set<string>()
  #count = 0

  constructor(reasons: Reasons) {
    this.#reasons = reasons
    note('Beside the document: = the same, + added, − left out, ≠ another value; with what the document has, and why.')
  }

  /** A message to the server, and the one that the document prints. */
  request(sent: Message, printed: Message): void {
    this.#message('client → server', sent, printed)
  }

  /** A message to the client, and the one that the document prints. */
  answer(sent: Message, printed: Message): void {
    this.#message('client ← server', sent, printed)
  }

  /** A message to the client that the document does not print. */
  aside(sent: Message): void {
    this.#show('client ← server', sent)
    note(`${INDENT}the document does not print this one`)
  }

  /** The document is over. */
  end(): void {
    const unused = Object.keys(this.#reasons).filter((path) => !this.#used.has(path))
    if (unused.length > 0) throw new Error(`Nothing differs at ${unused.join(', ')}.`)
  }

  #show(way: string, sent: Message): void {
    say(`${String(++this.#count).padStart(3)}  ${way}`)
    say(formatJson(sent, INDENT))
  }

  #message(way: string, sent: Message, printed: Message): void {
    this.#show(way, sent)
    const differences = differencesOf(printed, sent)
    if (differences.length === 0) note(`${INDENT}= the document`)
    for (const [why, explained] of Map.groupBy(differences, (difference) => this.#reasonFor(difference))) {
      const isNew = !this.#explained.has(why)
      this.#explained.add(why)
      say(`${INDENT}${explained.map(markOf).join(', ')}${isNew ? '' : ', as above'}`)
      if (isNew) note(`${INDENT}  ${why}`)
    }
  }

  #reasonFor({ path, printed, sent }: Difference): string {
    const pattern = Object.keys(this.#reasons).find((beginning) => path.startsWith(beginning))
    if (pattern === undefined)
      throw new Error(`${path} is ${JSON.stringify(sent)}, and in the document ${JSON.stringify(printed)}.`)
    this.#used.add(pattern)
    return this.#reasons[pattern] as string
  }
}

/** A member that was added, one that is missing, or another value, with what the document has. */
function markOf({ path, printed, sent }: Difference): string {
  if (printed === undefined) return `+ ${path}`
  return `${sent === undefined ? '−' : '≠'} ${path}: ${oneLine(printed)}`
}

/** A step that its document tells in words, and the message that is sent in it. */
export function step(text: string, message?: Message): void {
  say()
  headline(text)
  if (message !== undefined) say(formatJson(message, INDENT))
}
