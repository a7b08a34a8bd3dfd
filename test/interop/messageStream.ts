type Fields = Record<string, unknown>

/** A message from a server, before anybody has checked it. */
export interface Incoming {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Fields
  readonly result?: Fields
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
  readonly state?: unknown
}

/** The messages of one HTTP answer, be it a stream or a single message. */
export class MessageStream {
  readonly response: Response
  /** The id of the last event that came, also of one without a message. */
  lastEventId: string | undefined
  readonly #abort: AbortController
  readonly #messages: AsyncGenerator<Incoming>

  constructor(response: Response, abort: AbortController) {
    this.response = response
    this.#abort = abort
    this.#messages = this.#read()
  }

  /** The next message; throws when there is none. */
  async next(): Promise<Incoming> {
    const { value, done } = await this.#messages.next()
    if (done === true) throw new Error(`The stream ended (HTTP ${this.response.status}).`)
    return value
  }

  /** The messages until the stream ends. */
  async rest(): Promise<Incoming[]> {
    const rest: Incoming[] = []
    for await (const message of this.#messages) rest.push(message)
    return rest
  }

  /** Drops the connection. */
  close(): void {
    this.#abort.abort()
  }

  async *#read(): AsyncGenerator<Incoming> {
    if (this.response.headers.get('content-type') !== 'text/event-stream') {
      const body = await this.response.text()
      if (body !== '') yield JSON.parse(body) as Incoming
      return
    }
    for await (const event of eventsOf(this.response)) {
      const { id, data } = fieldsOf(event)
      this.lastEventId = id ?? this.lastEventId
      if (data !== undefined && data !== '') yield JSON.parse(data) as Incoming
    }
  }
}

async function* eventsOf(response: Response): AsyncGenerator<string> {
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = `${text}${chunk}`.split('\n\n')
    text = events.pop() ?? ''
    yield* events
  }
}

function fieldsOf(event: string): Record<string, string | undefined> {
  return Object.fromEntries(
    event.split('\n').map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]),
  )
}
