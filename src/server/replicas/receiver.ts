/** What another instance posts, by its kind, and the reply to it. */
import { type HeaderReader, type Json, runLater } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { HttpReply, InstanceMessages, Sink } from '../http/exchange.ts'
import { refusal } from '../http/refusal.ts'
import type { CallForwarder } from './callForwarder.ts'
import type { PeerBus } from './events/peerBus.ts'
import { type ClientRequest, readRequest } from './forwarder.ts'
import {
  INSTANCE_HEADER,
  MAX_MESSAGE_BYTES,
  MESSAGE_TYPE,
  type Messenger,
  type Received,
  REFUSED_STATUS,
} from './messenger.ts'
import type { PeerLedger } from './peerLedger.ts'
import type { Peers } from './peers.ts'

export interface ReceiverOptions {
  readonly messenger: Messenger
  readonly peers: Peers
  readonly calls: CallForwarder
  readonly bus: PeerBus
  readonly ledger: PeerLedger
}

const LOOK_TWICE_MS = 20
// So many turns of the event loop, however long each takes, until a connection counts as closed that its client has closed.
const TURNS_TO_CLOSE = 5
const REFUSAL = refusal(REFUSED_STATUS, 'This message was here before, or is not for this instance.')

export class MessageReceiver implements InstanceMessages {
  readonly mediaType = MESSAGE_TYPE
  readonly maxBytes = MAX_MESSAGE_BYTES
  /** Serves what another instance forwards. */
  serve: (request: ClientRequest, sink: Sink) => Promise<HttpReply | undefined> = () =>
    Promise.resolve(refusal(400, 'Nothing is forwarded to a server without sessions.'))
  /** Takes what an instance that stops hands over; false when it cannot. */
  adopt: (handedOver: Json) => boolean | Promise<boolean> = () => false
  /** Whether this instance goes on with a stream of another one. */
  has: (stream: string) => boolean = () => false
  /** Whether a caller is served here and nowhere else. */
  serves: (caller: string) => boolean = () => false
  readonly #options: ReceiverOptions

  constructor(options: ReceiverOptions) {
    this.#options = options
  }

  refusalOf(header: HeaderReader): HttpReply | undefined {
    const headers = this.#options.messenger.refusalOf(header(INSTANCE_HEADER))
    return headers && { ...REFUSAL, headers }
  }

  /** What another instance posted. Gives the reply, or undefined when it goes by the sink. */
  async receive(token: string, sink: Sink): Promise<HttpReply | undefined> {
    const received = this.#open(token)
    if (received === undefined) return REFUSAL
    const { peers, calls, bus, ledger } = this.#options
    const { id, from, message } = received
    sink.setHeaders({ [INSTANCE_HEADER]: id })
    peers.note(from)
    switch (message['kind']) {
      case 'hello':
        return jsonReply(peers.greeted(from))
      case 'events':
        bus.hear(message['events'])
        return { status: 202 }
      case 'stopping':
        peers.stopping(from)
        return { status: 202 }
      case 'bye':
        peers.left(from)
        return { status: 202 }
      case 'has':
        return jsonReply({ has: this.has(String(message['stream'])) })
      case 'serves':
        return jsonReply({ serves: this.serves(String(message['caller'])) })
      case 'cancellations':
        return jsonReply({ events: peers.recentCancellations() })
      case 'ledger':
        return jsonReply(await ledger.serve(message))
      case 'adopt':
        return jsonReply({ isAdopted: await this.#adopt(message['stream'] as Json, sink) })
      case 'request':
        return this.serve(readRequest(message), sink)
      case 'call':
        return calls.serve(message, sink)
      case 'call-cancelled':
        calls.cancelled(message['name'])
        return { status: 202 }
      default:
        return refusal(400, 'The message is of a version that this instance cannot read.')
    }
  }

  /**
   * Whoever had no reply in time has gone on to another instance. A process that was frozen reads the message first, and a
   * moment later that its sender has left.
   */
  async #adopt(stream: Json, sink: Sink): Promise<boolean> {
    await new Promise((resolve) => setTimeout(resolve, LOOK_TWICE_MS))
    for (let turns = 0; turns < TURNS_TO_CLOSE; turns++) await new Promise<void>((resolve) => runLater(resolve))
    return !sink.disconnected && this.adopt(stream)
  }

  #open(token: string): Received | undefined {
    try {
      return this.#options.messenger.open(token)
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }
}

function jsonReply(value: Json): HttpReply {
  return { status: 200, body: JSON.stringify(value) }
}
