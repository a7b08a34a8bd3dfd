/** Every message as it goes and comes, for whoever wants to see what a verdict rests on. Secrets are hidden. */
import { plainLine, plainText } from '../../client/index.ts'
import type { Secrets } from '../secrets.ts'

export interface Exchanged {
  readonly direction: 'sent' | 'received'
  /** Connections are counted from 1. */
  readonly connection: number
  /** `POST https://example.com/mcp`, `HTTP 200`, `stdin`, `stdout` or `stderr`. */
  readonly way: string
  readonly headers: Readonly<Record<string, string>>
  /** Harmless for a terminal, and cut where it is long. */
  readonly text: string
}

export type Watch = (exchanged: Exchanged) => void

const MAX_CHARS = 2_000
const MAX_LINE_CHARS = 300
/** For each connection: who says more, does not want to be understood. */
const MAX_NOTES = 1_000
/** Those of an answer that say something about sessions. */
const TELLING = ['content-type', 'mcp-session-id', 'www-authenticate', 'location', 'allow', 'retry-after']

export class Recorder {
  readonly #watch: Watch | undefined
  readonly #secrets: Secrets
  #connections = 0
  /** How much was told of each connection. */
  readonly #noted = new Map<number, number>()

  constructor(watch: Watch | undefined, secrets: Secrets) {
    this.#watch = watch
    this.#secrets = secrets
  }

  get secrets(): Secrets {
    return this.#secrets
  }

  /** Text of a server, fit to be shown. */
  shown(text: string, max = MAX_CHARS): string {
    const hidden = plainText(this.#secrets.hide(text))
    return hidden.length <= max ? hidden : `${hidden.slice(0, max)} … (cut)`
  }

  /** The same on one line, for a sentence. */
  line(text: string): string {
    return plainLine(this.#secrets.hide(text), MAX_LINE_CHARS)
  }

  nextConnection(): number {
    return ++this.#connections
  }

  note(direction: Exchanged['direction'], connection: number, way: string, rest: Partial<Exchanged> = {}): void {
    const count = (this.#noted.get(connection) ?? 0) + 1
    if (this.#watch === undefined || count > MAX_NOTES) return
    this.#noted.set(connection, count)
    const { headers = {}, text = '' } = rest
    const safe = Object.entries(headers).map(([name, value]) => [name, this.#shownHeader(name, value)])
    const headersShown = Object.fromEntries(safe) as Record<string, string>
    try {
      this.#watch({ direction, connection, way: this.shown(way), headers: headersShown, text: this.shown(text) })
    } catch {
      // Who watches must not change what is found.
    }
  }

  #shownHeader(name: string, value: string): string {
    return name === 'mcp-session-id' ? `[hidden, ${value.length} characters]` : this.shown(value, 200)
  }
}

/** The headers of an answer that are worth showing. */
export function tellingHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const found = TELLING.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]] as const] : []))
  return Object.fromEntries(found)
}
