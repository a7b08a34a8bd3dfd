/** Verifies audit logs: finds lines that were changed, left out or moved, and heads without a good signature. */
import { isObject, type Json, parseJson } from '../protocol/index.ts'
import type { Keyring, Marks } from '../state/seal/index.ts'
import { auditMarks, openedLine, signedText } from './chain.ts'

export interface AuditFault {
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  readonly sentence: string
}

export interface VerifiedAudit {
  readonly entries: number
  readonly faults: readonly AuditFault[]
  /** Chains whose last lines are not signed. */
  readonly unsigned: readonly { readonly instance: string; readonly entries: number; readonly file: string }[]
}

/** A place in a chain. */
interface ChainPlace {
  readonly file: string
  readonly seq: number
  readonly digest: string
  /** How many lines came since the last head. */
  readonly unsigned: number
  readonly isClosed: boolean
}

interface ReadLine {
  readonly seq: number
  readonly instance: string
  readonly previous: string
  readonly digest: string
  readonly content: Json
}

/** A log that is read line by line. The files of one process come in the order of their names. */
export class AuditVerifier {
  readonly #marks: Marks | undefined
  readonly #places = new Map<string, ChainPlace>()
  readonly #faults: AuditFault[] = []
  #entries = 0

  /** Without a keyring, signatures are not checked. */
  constructor(keyring: Keyring | undefined) {
    this.#marks = keyring && auditMarks(keyring)
  }

  /** Reads the next line of a file. */
  read(text: string, file: string, number: number): void {
    const fault = (sentence: string): void => void this.#faults.push({ file, line: number, sentence })
    const line = readLine(text)
    if (line === undefined) return fault('This line was changed: its digest is that of another text.')
    const { instance, seq, digest, content } = line
    const before = this.#places.get(instance)
    const broken = before === undefined ? this.#startFault(line) : orderFault(line, before)
    if (broken !== undefined) fault(broken)
    const isHead = content['kind'] === 'head'
    if (isHead && !this.#isSigned(line)) fault('This head is not signed with the given keys.')
    if (!isHead) this.#entries += 1
    const unsigned = isHead ? 0 : (before?.unsigned ?? 0) + 1
    this.#places.set(instance, { file, seq, digest, unsigned, isClosed: content['closed'] === true })
  }

  get result(): VerifiedAudit {
    const open = Array.from(this.#places).filter(([, { isClosed }]) => !isClosed)
    return {
      entries: this.#entries,
      faults: this.#faults,
      unsigned: open.map(([instance, { unsigned, file }]) => ({ instance, entries: unsigned, file })),
    }
  }

  /** A log begins with a head: older files may have been deleted, but the head vouches for what was before it. */
  #startFault({ seq, previous, content }: ReadLine): string | undefined {
    if (content['kind'] !== 'head') return 'Lines are missing before this one: each file begins with a head.'
    const isFirst = seq === 0 && previous === ''
    return isFirst || seq > 0 ? undefined : 'This head begins a chain and names a line before it.'
  }

  #isSigned({ instance, seq, previous, content: { mark, closed } }: ReadLine): boolean {
    if (this.#marks === undefined) return true
    return typeof mark === 'string' && this.#marks.isOf(signedText(instance, seq, previous, closed === true), mark)
  }
}

function orderFault({ seq, previous }: ReadLine, before: ChainPlace): string | undefined {
  if (before.isClosed) return 'This line comes after the end of its chain.'
  if (seq === before.seq + 1 && previous === before.digest) return undefined
  if (seq > before.seq + 1) {
    const count = seq - before.seq - 1
    return `${count === 1 ? 'A line is' : `${count} lines are`} missing before this one.`
  }
  if (seq <= before.seq) return 'This line was moved or repeated: a later one comes before it.'
  return 'The line before this one was replaced.'
}

function readLine(text: string): ReadLine | undefined {
  const opened = openedLine(text)
  if (opened === undefined) return undefined
  const content = parseJson(opened.text)
  if (!isObject(content)) return undefined
  const { seq, instance, previous } = content
  const isLine = typeof seq === 'number' && typeof instance === 'string' && typeof previous === 'string'
  return isLine ? { seq, instance, previous, digest: opened.digest, content } : undefined
}
