/**
 * Which gateways are behind each other, so that a gateway notices when a server behind it is itself, or leads back to it.
 *
 * - Each gateway has a random name; the workers of one gateway share it. What it sends over HTTP names it. A gateway that
 *   finds its own name in a request refuses it.
 * - Lists are answered from memory, so that no single request goes around a ring. So a gateway tells those that ask it
 *   which gateways are behind it, as the servers behind it have told. Of what it has, it leaves out for each of them the
 *   servers that lead back there (split horizon, as in routing). A program asks in the name of those that started it, too.
 * - What is told could be made up. What a server says of gateways has the effect that these do not get that server, and no
 *   other. What a caller says counts for its own requests alone.
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
  /** What programs get. */
  readonly env: Readonly<Record<string, string>>
  /** What requests over HTTP say: this gateway, and those that have started it. What leads to one of them leads back here. */
  readonly header: string
  readonly #entries = new Set<EntryVia>()
  #behind = ''

  /** Throws where a gateway that serves the same file has started this one. */
  constructor({ id = newGatewayId(), file }: ViaOptions = {}) {
    const started = startedBy(file)
    this.#id = id
    this.env = programNames(started, id, file)
    this.header = [...new Set([id, ...started.filter(isGatewayName)])].join(', ')
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
    const entry = new EntryVia(this, () => this.#write())
    this.#entries.add(entry)
    return entry
  }

  /** The server is not served any more. */
  forget(entry: EntryVia): void {
    this.#entries.delete(entry)
    this.#write()
  }

  /** Takes one name of each server in turn, so that none fills the list. */
  #write(): void {
    const told = Array.from(this.#entries, ({ gateways }) => gateways)
    const longest = Math.max(0, ...told.map(({ length }) => length))
    const names = new Set([this.#id])
    for (let turn = 0; turn < longest; turn++)
      for (const { [turn]: name } of told) if (name !== undefined && names.size < MAX_BEHIND) names.add(name)
    this.#behind = [...names].join(', ')
  }
}

/** A gateway before one of its servers: what it says there, and what it has heard from there. */
export class EntryVia {
  readonly #via: Via
  readonly #onChange: () => void
  #heard: string | undefined
  /** Those behind this entry, as its last answer said. */
  gateways: readonly string[] = []

  constructor(via: Via, onChange: () => void) {
    this.#via = via
    this.#onChange = onChange
  }

  get header(): string {
    return this.#via.header
  }

  get env(): Readonly<Record<string, string>> {
    return this.#via.env
  }

  /** Whether one of the gateways that a request came through is behind that server. */
  leadsTo(header: string): boolean {
    if (this.gateways.length === 0) return false
    const names = namesIn(header)
    return this.gateways.some((name) => names.includes(name))
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
