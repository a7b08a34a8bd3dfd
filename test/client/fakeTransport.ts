/** A transport whose other end is the test: it sees what goes out, and says what comes in. */
import type { SendOptions, WireMessage } from 'pannier/client'

/** What came over a wire: anything. */
export type Loose = ReturnType<typeof JSON.parse>

type Sent = WireMessage & { readonly params?: Record<string, Loose>; readonly result?: Loose; readonly error?: Loose }

export class FakeTransport {
  onmessage?: (message: WireMessage, extra?: unknown) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly sent: Sent[] = []
  readonly options: (SendOptions | undefined)[] = []
  /** Called for each message that goes out. */
  react: ((message: Sent) => void | Promise<void>) | undefined

  async start(): Promise<void> {}

  async send(message: WireMessage, options?: SendOptions): Promise<void> {
    this.sent.push(message)
    this.options.push(options)
    await this.react?.(message)
  }

  async close(): Promise<void> {
    this.onclose?.()
  }

  say(message: object): void {
    this.onmessage?.({ jsonrpc: '2.0', ...message })
  }
}

/** Some client above a layer: it keeps what it hears. */
export class Above<T extends FakeTransport> {
  readonly heard: Loose[] = []
  readonly faults: Error[] = []
  readonly transport: T

  constructor(transport: T) {
    this.transport = transport
    transport.onmessage = (message) => void this.heard.push(message)
    transport.onerror = (error) => void this.faults.push(error)
    transport.onclose = () => undefined
  }

  send(message: object, options?: SendOptions): Promise<void> {
    return this.transport.send({ jsonrpc: '2.0', ...message }, options)
  }
}

/** Lets everything run that is ready to. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}
