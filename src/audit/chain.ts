/**
 * The chain of an audit log: one for each process. Each line is a JSON object with the number of the entry and the
 * digest of the line before it, and ends with its own digest. Heads, which only holders of the keys can write, sign the
 * chain up to them.
 *
 * - A line that is changed, left out, added or moved breaks the chain.
 * - Lines after the last head are not signed: a chain that was closed ends with a head that says so.
 */
import { createHash } from 'node:crypto'
import { createMarks, type Keyring, type Marks } from '../state/seal/index.ts'
import type { AuditEntry } from './entry.ts'

/** What a head signs, and with which key. */
export interface ChainHead {
  readonly kind: 'head'
  /** Whether the process has closed its chain. */
  readonly closed?: true
  readonly keyId: string
  readonly mark: string
}

/** The members of each line beside those of its entry. */
export interface ChainLink {
  readonly seq: number
  readonly at: string
  readonly instance: string
  /** The digest of the line before; empty at the beginning of a chain. */
  readonly previous: string
}

export class AuditChain {
  readonly instance: string
  readonly #keyring: Keyring
  readonly #marks: Marks
  readonly #clock: () => number
  #seq = 0
  #previous = ''
  /** Whether the last line is a head. */
  #isSigned = false

  constructor(instance: string, keyring: Keyring, clock: () => number) {
    this.instance = instance
    this.#keyring = keyring
    this.#marks = auditMarks(keyring)
    this.#clock = clock
  }

  get isSigned(): boolean {
    return this.#isSigned
  }

  /** The next line, without a line break. */
  line(entry: AuditEntry): string {
    this.#isSigned = false
    return this.#link(entry)
  }

  /** A line that signs all lines before it. */
  head({ closed = false } = {}): string {
    const { instance } = this
    const mark = this.#marks.of(signedText(instance, this.#seq, this.#previous, closed))
    this.#isSigned = true
    return this.#link({ kind: 'head', ...(closed && { closed }), keyId: this.#keyring.ids[0] ?? '', mark })
  }

  #link(content: AuditEntry | ChainHead): string {
    const { instance } = this
    const link: ChainLink = {
      seq: this.#seq,
      at: new Date(this.#clock()).toISOString(),
      instance,
      previous: this.#previous,
    }
    const open = JSON.stringify({ ...link, ...content }).slice(0, -1)
    this.#previous = digestOfLine(open)
    this.#seq += 1
    return `${open},"digest":"${this.#previous}"}`
  }
}

const DIGEST_END = /^(.*),"digest":"([\w-]{43})"\}$/s

/** A line without its digest, and the digest; undefined if the digest is missing or belongs to another line. */
export function openedLine(line: string): { readonly text: string; readonly digest: string } | undefined {
  const [, open, digest] = DIGEST_END.exec(line) ?? []
  if (open === undefined || digest === undefined || digestOfLine(open) !== digest) return undefined
  return { text: `${open}}`, digest }
}

export function auditMarks(keyring: Keyring): Marks {
  return createMarks(keyring, 'audit')
}

/** The text that a head marks. */
export function signedText(instance: string, seq: number, previous: string, closed: boolean): string {
  return JSON.stringify([instance, seq, previous, closed])
}

function digestOfLine(open: string): string {
  return createHash('sha256').update(open).digest('base64url')
}
