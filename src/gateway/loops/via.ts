/**
 * Which gateways are behind each other, so that a gateway notices when a server behind it is itself, or leads back to it.
 *
 * - Each gateway has a random name; the workers of one gateway share it. What it sends over HTTP names it. A gateway that
 *   finds its own name in a request refuses it.
 * - Lists are answered from memory, so that no single request goes around a ring. So a gateway tells those that ask it
 *   which gateways are behind it, as the servers behind it have told. One that finds itself there does not serve that entry.
 *   A program cannot tell those that started it, so it looks for their names, too.
 * - Nothing is remembered of what callers say: it could be made up, and count against others. A server that makes something
 *   up is not served.
 */
import { randomBytes } from 'node:crypto'
import { programNames, startedBy } from './started.ts'
import { isGatewayName, namesIn } from './names.ts'

export const VIA_HEADER = 'pannier-via'
export const BEHIND_HEADER = 'pannier-behind'
const MAX_BEHIND = 64

export interface ViaOptions {
  /** The name that the workers of a gateway share. @default a random one */
  readonly id?: string | undefined
  /** The file that is served, where it is one. */
  readonly file?: string | undefined
}

/** A gateway by its name, before all its servers. */
export class Via {
  readonly #id: string
  /** This gateway, and those that have started it: what leads to one of them leads back here. */
  readonly #before: ReadonlySet<string>
  /** What programs get. */
  readonly env: Readonly<Record<string, string>>
  /** What requests over HTTP say: this gateway, and those that have started it. */
  readonly header: string
  readonly #entries = new Set<EntryVia>()
  #behind = ''

  /** Throws where a gateway that serves the same file has started this one. */
  constructor({ id = newGatewayId(), file }: ViaOptions = {}) {
    const started = startedBy(file)
    this.#id = id
    this.env = programNames(started, id, file)
    this.#before = new Set([id, ...started.filter(isGatewayName)])
    this.header = [...this.#before].join(', ')
    this.#write()
  }

  /** What answers to other gateways say: this one, and those behind it. */
  get behind(): string {
    return this.#behind
  }

  /** Whether a request that came through these gateways has not been here before. */
  admits(header: string): boolean {
    return !namesIn(header).includes(this.#id)
  }

  /** The gateway before one of its servers. */
  before(): EntryVia {
    const entry = new EntryVia(this, this.#before, () => this.#write())
    this.#entries.add(entry)
    return entry
  }

  /** The server is not served any more. */
  forget(entry: EntryVia): void {
    this.#entries.delete(entry)
    this.#write()
  }

  #write(): void {
    const behind = [...this.#entries].flatMap(({ gateways }) => gateways)
    this.#behind = [...new Set([this.#id, ...behind])].slice(0, MAX_BEHIND).join(', ')
  }
}

/** A gateway before one of its servers: what it says there, and what it has heard from there. */
export class EntryVia {
  readonly #via: Via
  readonly #before: ReadonlySet<string>
  readonly #onChange: () => void
  #heard: string | undefined
  /** Those behind this entry, as its last answer said. */
  gateways: readonly string[] = []

  constructor(via: Via, before: ReadonlySet<string>, onChange: () => void) {
    this.#via = via
    this.#before = before
    this.#onChange = onChange
  }

  get header(): string {
    return this.#via.header
  }

  get env(): Readonly<Record<string, string>> {
    return this.#via.env
  }

  /** Whether this gateway is behind that server, or one that has started it, which then leads on to it. */
  get leadsBack(): boolean {
    return this.gateways.some((name) => this.#before.has(name))
  }

  /** Takes what an answer says; undefined where it is of no gateway. */
  hear(header: string | string[] | undefined): void {
    if (header === this.#heard || typeof header === 'object') return
    this.#heard = header
    this.gateways = namesIn(header ?? '').slice(0, MAX_BEHIND)
    this.#onChange()
  }

  close(): void {
    this.#via.forget(this)
  }
}

export function newGatewayId(): string {
  return randomBytes(9).toString('base64url')
}
