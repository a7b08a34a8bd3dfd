/** Reports every message that is sent or received to `onExchange`. Secrets are hidden. */
import { plainLine, plainText } from '../../client/index.ts'
import type { Secrets } from '../secrets.ts'

/** One message, as it was sent or received. */
export interface Exchanged {
  readonly direction: 'sent' | 'received'
  /** Connections are counted from 1. */
  readonly connection: number
  /** `POST https://example.com/mcp`, `HTTP 200`, `stdin`, `stdout` or `stderr`. */
  readonly way: string
  readonly headers: Readonly<Record<string, string>>
  /** Without control characters, and truncated. */
  readonly text: string
}

/** Gets each message of a probe. */
export type TraceListener = (exchanged: Exchanged) => void

const MAX_TEXT_CHARS = 2_000
const MAX_LINE_CHARS = 300
/** Messages that are reported for one connection. Those beyond are not. */
const MAX_MESSAGES = 1_000
/** The response headers that say something about sessions. */
const TRACED_HEADERS = ['content-type', 'mcp-session-id', 'www-authenticate', 'location', 'allow', 'retry-after']

export class Tracer {
  readonly #watch: TraceListener | undefined
  readonly #secrets: Secrets
  #connections = 0
  /** How many messages of each connection were reported. */
  readonly #noted = new Map<number, number>()

  constructor(watch: TraceListener | undefined, secrets: Secrets) {
    this.#watch = watch
    this.#secrets = secrets
  }

  get secrets(): Secrets {
    return this.#secrets
  }

  /** Text of a server, safe to show: no secrets, no control characters, not too long. */
  shown(text: string, max = MAX_TEXT_CHARS): string {
    const hidden = plainText(this.#secrets.hide(text))
    return hidden.length <= max ? hidden : `${hidden.slice(0, max)} … (cut)`
  }

  /** The same on one line, to be part of a sentence. */
  line(text: string): string {
    return plainLine(this.#secrets.hide(text), MAX_LINE_CHARS)
  }

  nextConnection(): number {
    return ++this.#connections
  }

  note(direction: Exchanged['direction'], connection: number, way: string, rest: Partial<Exchanged> = {}): void {
    const count = (this.#noted.get(connection) ?? 0) + 1
    if (this.#watch === undefined || count > MAX_MESSAGES) return
    this.#noted.set(connection, count)
    const { headers = {}, text = '' } = rest
    const safe = Object.entries(headers).map(([name, value]) => [name, this.#shownHeader(name, value)])
    const headersShown = Object.fromEntries(safe) as Record<string, string>
    try {
      this.#watch({ direction, connection, way: this.shown(way), headers: headersShown, text: this.shown(text) })
    } catch {
      // An error of the caller's function does not change the verdict.
    }
  }

  #shownHeader(name: string, value: string): string {
    return name === 'mcp-session-id' ? `[hidden, ${value.length} characters]` : this.shown(value, 200)
  }
}

/** The response headers that are reported. */
export function tracedHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const found = TRACED_HEADERS.flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]] as const] : [],
  )
  return Object.fromEntries(found)
}
