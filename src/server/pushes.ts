/**
 * Questions pushed to session-era clients, and the way of their answers back to the call that asked.
 *
 * - An answer to a question of this process goes on in place.
 * - An answer that echoes its state (SEP-1685), or whose state lies in the store, goes on here even when the process
 *   that asked is gone: the call is revived from the journal it carries.
 * - Each pushed question revives at most one call, however often its answer is sent.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type Journal, readJournal } from '../journal/index.ts'
import {
  ECHO_META_KEY,
  echoPlace,
  isObject,
  type Json,
  type RequestId,
  type ResponseMessage,
} from '../protocol/index.ts'
import { type CarryStore, type Ledger, type Sealer, StateError } from '../state/index.ts'
import type { Call, CarriedCall } from './call.ts'
import { newId } from './carrier.ts'
import { ServerError } from './errors.ts'
import type { Owner } from './legacyStreams.ts'
import type { Logger } from './logger.ts'

/** A call that goes on from an answer. */
export interface RevivedCall {
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  readonly stream: string
  readonly journal: Journal
}

interface Waiting {
  readonly owner: Owner
  readonly call: string
  readonly key: string
  readonly resolve: (response: unknown) => void
  readonly reject: (error: Error) => void
  readonly timer: ReturnType<typeof setTimeout>
}

interface PushBody {
  readonly c: string
  readonly k: string
  readonly i: RequestId
  readonly m: string
  readonly p: Json
  readonly s: string
  readonly j: unknown
}

export interface PushesOptions {
  readonly sealer: Sealer
  readonly store: CarryStore | undefined
  readonly ledger: Ledger
  readonly ttlSeconds: number
  readonly clock: () => number
  readonly logger: () => Logger
}

export class Pushes {
  readonly #options: PushesOptions
  readonly #waiting = new Map<string, Waiting>()

  constructor(options: PushesOptions) {
    this.#options = options
  }

  /** Sends a question by `send` and waits for its answer. `stream` names where the result will go. */
  async push(
    call: Call,
    request: InputRequest,
    carried: CarriedCall,
    stream: string,
    send: (message: Json) => void,
  ): Promise<unknown> {
    const id = newId()
    const place = echoPlace(call.peer.capabilities)
    const { store, clock, ttlSeconds } = this.#options
    const state = place !== undefined || store !== undefined ? this.#seal(id, call, carried, stream) : undefined
    if (state !== undefined) await store?.put(id, state, Math.ceil(clock() / 1000) + ttlSeconds)
    const answer = this.#wait(id, call, carried)
    send(messageOf(id, request, place, state))
    return answer
  }

  /** Takes an answer; gives the call to revive, if that is what it means. */
  async take(response: ResponseMessage, owner: Owner): Promise<RevivedCall | undefined> {
    const waiting = this.#waiting.get(String(response.id))
    if (waiting !== undefined) {
      this.#settle(String(response.id), waiting, response, owner)
      return undefined
    }
    const body = await this.#carried(response, owner)
    if (body === undefined || this.#goesOnHere(body, response, owner)) return undefined
    const claim = await this.#options.ledger.claim(`push/${response.id}`, this.#options.ttlSeconds)
    if (claim.state !== 'fresh') return undefined
    const inputResponses = { [body.k]: response.result }
    return {
      id: body.i,
      method: body.m,
      params: { ...body.p, inputResponses },
      stream: body.s,
      journal: readJournal(body.c, 0, body.j),
    }
  }

  /** The client has gone for good, or the request was cancelled. */
  cancel(call: Call): void {
    for (const [id, waiting] of this.#waiting) {
      if (waiting.owner === call)
        this.#finish(id, waiting, () => waiting.reject(unanswered('The request was cancelled.')))
    }
  }

  #wait(id: string, owner: Call, { id: call, key }: CarriedCall): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const late = (): void => this.#finish(id, waiting, () => reject(unanswered('The client did not answer in time.')))
      const timer = setTimeout(late, this.#options.ttlSeconds * 1000)
      timer.unref()
      const waiting: Waiting = { owner, call, key, resolve, reject, timer }
      this.#waiting.set(id, waiting)
    })
  }

  #settle(id: string, waiting: Waiting, response: ResponseMessage, owner: Owner): void {
    if (!isSameOwner(waiting.owner, owner)) {
      this.#options.logger().warn({}, 'An answer came from another session than the question went to; it was ignored.')
      return
    }
    const { error, result } = response
    const done =
      error === undefined
        ? () => waiting.resolve(result)
        : () => waiting.reject(unanswered('The client could not answer.'))
    this.#finish(id, waiting, done)
  }

  #finish(id: string, { timer }: Waiting, done: () => void): void {
    clearTimeout(timer)
    this.#waiting.delete(id)
    done()
  }

  /** A call revived here may have asked the same question again; the first answer serves. */
  #goesOnHere({ c, k }: PushBody, response: ResponseMessage, owner: Owner): boolean {
    for (const [id, waiting] of this.#waiting) {
      if (waiting.call !== c || waiting.key !== k) continue
      this.#settle(id, waiting, response, owner)
      return true
    }
    return false
  }

  async #carried(response: ResponseMessage, owner: Owner): Promise<PushBody | undefined> {
    const { store, sealer, logger } = this.#options
    const state = echoed(response) ?? (await store?.get(String(response.id)))
    if (state === undefined) {
      logger().debug({}, 'An answer came to a question that nobody waits for; it was ignored.')
      return undefined
    }
    const { id, body } = sealer.open('push', bindingOf(owner), state)
    if (id !== response.id) throw new StateError('STATE_TAMPERED', 'The state belongs to another question.')
    return body as PushBody
  }

  #seal(id: string, call: Call, { key, id: name, body }: CarriedCall, stream: string): string {
    const carried: PushBody = { c: name, k: key, i: call.id, m: call.method, p: call.params, s: stream, j: body() }
    return this.#options.sealer.seal('push', bindingOf(call), { id, body: carried })
  }
}

function messageOf(
  id: string,
  request: InputRequest,
  place: 'top' | 'meta' | undefined,
  state: string | undefined,
): Json {
  const message = { jsonrpc: '2.0', id, ...request }
  if (place === 'top') return { ...message, state }
  if (place !== 'meta') return message
  const params = request.params as Json | undefined
  return {
    ...message,
    params: { ...params, _meta: { ...(params?.['_meta'] as Json | undefined), [ECHO_META_KEY]: state } },
  }
}

/** The state an answer brings back, wherever it stands. */
function echoed({ state, result }: ResponseMessage): string | undefined {
  const meta = result?.['_meta']
  const found = state ?? (isObject(meta) ? meta[ECHO_META_KEY] : undefined)
  if (found === undefined || typeof found === 'string') return found
  throw new StateError('STATE_MALFORMED', 'The state is not the string that was sent.')
}

function isSameOwner(a: Owner, b: Owner): boolean {
  return a.peer.session === b.peer.session && a.principal?.id === b.principal?.id
}

function bindingOf({ principal, peer }: Owner) {
  return { principal: principal?.id, session: peer.session }
}

function unanswered(why: string): ServerError {
  return new ServerError('PUSH_UNANSWERED', why)
}
