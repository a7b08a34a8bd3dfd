/**
 * Which gateways a request has come through, so that a gateway notices when a server behind it is itself, or leads back
 * to it.
 *
 * - Each gateway has a random name; the workers of one gateway share it. What it sends over HTTP names itself and the
 *   gateways that were in front of it in the past minutes: lists are answered from memory, so that no single request goes
 *   around a ring.
 * - A gateway that finds its own name in a request refuses it with 508 (RFC 5842, Loop Detected).
 * - Programs get the names in a variable, together with the files that are served. A gateway whose own file is among them
 *   does not start.
 */
import { createHash, randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  type Admission,
  type EndpointRequest,
  type HostSink,
  type HttpReply,
  refusal,
  type RequestHandler,
} from '../server/internal.ts'

export const VIA_HEADER = 'pannier-via'
const VARIABLE = 'PANNIER_GATEWAYS'
export const LOOP_STATUS = 508
/** Of an entry, after its name or "it". */
export const BEHIND_ITSELF =
  'is this gateway itself, or leads back to it. Remove the entry, or name another server or file.'
const STARTED_BY_ITSELF =
  'This gateway was started by one that serves the same file. Remove the entry that starts it, or name another file.'
const TOO_DEEP = 'Too many gateways have started each other. Remove the entry that starts this one.'

/** A gateway that is down is tried again more often than this, so that those in front of another stay known there. */
const REMEMBERED_MS = 120_000
/** Anyone can send such names, so that few are remembered, and short ones. */
const MAX_IN_FRONT = 16
/** Gateways that start each other, each with its file. */
const MAX_STARTED = 16
const NAME = /^(?:[\w-]{12}|file-[0-9a-f]{16})$/
const FILE = 'file-'

export interface ViaOptions {
  /** The name that the workers of a gateway share. @default a random one */
  readonly id?: string | undefined
  /** The file that is served, where it is one. */
  readonly file?: string | undefined
}

export class Via {
  readonly #id: string
  /** The gateways that started this one, each after the other, and the files that they serve. */
  readonly #started: readonly string[]
  readonly #file: string | undefined
  /** The gateways in front of this one, and until when they are remembered. */
  readonly #inFront = new Map<string, number>()
  #header = ''

  /** Throws where a gateway that serves the same file has started this one. */
  constructor({ id = newGatewayId(), file }: ViaOptions = {}) {
    this.#id = id
    this.#started = startedBy(file)
    this.#file = file === undefined ? undefined : nameOfFile(file)
    this.#write()
  }

  /** What requests over HTTP say. */
  get header(): string {
    return this.#header
  }

  /** What programs get. */
  get env(): Readonly<Record<string, string>> {
    return { [VARIABLE]: [...this.#started, this.#id, ...(this.#file === undefined ? [] : [this.#file])].join(',') }
  }

  /** Whether a request that came through these gateways has not been here before. */
  admits(header: string): boolean {
    const names = namesIn(header)
    const isNew = !names.includes(this.#id)
    this.#remember(names.filter((name) => name !== this.#id))
    return isNew
  }

  #remember(names: readonly string[]): void {
    const now = performance.now()
    const before = this.#inFront.size
    for (const [name, until] of this.#inFront) if (until < now) this.#inFront.delete(name)
    let isChanged = this.#inFront.size < before
    for (const name of names) {
      const isKnown = this.#inFront.has(name)
      if (!isKnown && this.#inFront.size >= MAX_IN_FRONT) continue
      this.#inFront.set(name, now + REMEMBERED_MS)
      isChanged ||= !isKnown
    }
    if (isChanged) this.#write()
  }

  #write(): void {
    const gateways = this.#started.filter((name) => !name.startsWith(FILE))
    this.#header = [...new Set([this.#id, ...gateways, ...this.#inFront.keys()])].join(', ')
  }
}

export function newGatewayId(): string {
  return randomBytes(9).toString('base64url')
}

/** What started this process. Throws where it must not be a gateway, for this file. */
export function startedBy(file: string | undefined): readonly string[] {
  const started = namesIn(process.env[VARIABLE] ?? '')
  if (file !== undefined && started.includes(nameOfFile(file))) throw new TypeError(STARTED_BY_ITSELF)
  if (started.length >= MAX_STARTED) throw new TypeError(TOO_DEEP)
  return started
}

/** Whether what a program printed before it ended says that it was such a gateway. */
export function saysBehindItself(printed: readonly string[]): boolean {
  const text = printed.join(' ').replace(/\s+/g, ' ')
  return text.includes(STARTED_BY_ITSELF) || text.includes(TOO_DEEP)
}

function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => NAME.test(name))
}

function nameOfFile(file: string): string {
  const path = resolve(file)
  let real = path
  try {
    real = realpathSync(path)
  } catch {
    // It may be gone meanwhile.
  }
  return `${FILE}${createHash('sha256').update(real).digest('hex').slice(0, 16)}`
}

const LOOP = refusal(
  LOOP_STATUS,
  'This request has come through this gateway before: an entry of it, or of a gateway behind it, leads back to it.',
)

/** Refuses requests that come back. */
export class LoopGuard implements RequestHandler {
  readonly #via: Via
  readonly #inner: RequestHandler

  constructor(via: Via, inner: RequestHandler) {
    this.#via = via
    this.#inner = inner
  }

  handle(request: EndpointRequest, admission: Admission, sink: HostSink): Promise<HttpReply | undefined> {
    const header = request.header(VIA_HEADER)
    if (header === undefined || this.#via.admits(header)) return this.#inner.handle(request, admission, sink)
    return Promise.resolve(LOOP)
  }
}
