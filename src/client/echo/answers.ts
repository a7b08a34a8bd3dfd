/**
 * An answer can be lost with the process that took it; then only the client knows it. So the answers of a call are kept,
 * and posted again when the client resumes the call's stream after its connection was cut.
 *
 * Only answers to the newest questions are kept. A later question carries a state that includes the effects of earlier
 * answers; continuing from an older state would repeat them.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { sleep } from '../../protocol/index.ts'
import { isResponse, messageIn } from '../layer/message.ts'
import { NOBODY_THERE, Retries, retryAfterMsOf } from '../retries.ts'
import { MAX_CHARS, MAX_STATES } from './states.ts'

interface PostedAnswer {
  readonly post: (authorization: string | null) => Promise<Response>
  /** The first time. */
  readonly posting: Promise<Response>
  readonly chars: number
}

/** How many event ids of a stream are kept: more events than arrive at once. */
const MAX_EVENT_IDS = 16
/** A longer id is not kept: no server accepts a header of that size. */
const MAX_EVENT_ID_CHARS = 16_384

/** The streams on which a server asked something and has not sent the result of the call. */
export class AskingStreams {
  readonly #streams = new Set<AskingStream>()

  /** The stream of a response: a new one, or the one that the client resumes. */
  at(channel: string, lastEventId: string | null): AskingStream {
    const known = lastEventId === null ? undefined : this.#find((stream) => stream.isAt(channel, lastEventId))
    return known ?? new AskingStream(channel, this.#streams)
  }

  /** An answer is being posted. */
  answered(question: string, answer: PostedAnswer): void {
    this.#find((stream) => stream.hasAsked(question))?.answered(question, answer)
    let chars = [...this.#streams].reduce((sum, stream) => sum + stream.chars, 0)
    for (const oldest of this.#streams) {
      if (this.#streams.size <= MAX_STATES && chars <= MAX_CHARS) break
      chars -= oldest.chars
      this.#streams.delete(oldest)
    }
  }

  #find(matches: (stream: AskingStream) => boolean): AskingStream | undefined {
    for (const stream of this.#streams) if (matches(stream)) return stream
    return undefined
  }
}

class AskingStream {
  readonly #channel: string
  readonly #all: Set<AskingStream>
  /** The newest events. A client whose connection broke may not have received the last ones. */
  readonly #eventIds: string[] = []
  /** The questions that came after the last answer was posted. */
  readonly #questions = new Set<string>()
  readonly #answers = new Map<string, PostedAnswer>()

  constructor(channel: string, all: Set<AskingStream>) {
    this.#channel = channel
    this.#all = all
  }

  get chars(): number {
    return [...this.#answers.values()].reduce((sum, { chars }) => sum + chars, 0)
  }

  isAt(channel: string, lastEventId: string): boolean {
    return channel === this.#channel && this.#eventIds.includes(lastEventId)
  }

  hasAsked(question: string): boolean {
    return this.#questions.has(question)
  }

  asked(question: string): void {
    if (this.#answers.size > 0) {
      this.#questions.clear()
      this.#answers.clear()
    }
    this.#questions.add(question)
    this.#all.add(this)
  }

  answered(question: string, answer: PostedAnswer): void {
    this.#answers.set(question, answer)
  }

  /** An event came. The result of the call is the last. */
  received(data: string, id: string | undefined): void {
    if (id !== undefined && id.length <= MAX_EVENT_ID_CHARS) this.#eventIds.push(id)
    if (this.#eventIds.length > MAX_EVENT_IDS) this.#eventIds.shift()
    if (!this.#all.has(this)) return
    const message = messageIn(data)
    if (message !== undefined && isResponse(message)) this.#all.delete(this)
  }

  /** Posts the answers in their first order. An instance that has taken one ignores it. */
  async postAgain(authorization: string | null): Promise<void> {
    const answers = [...this.#answers] // those that are given from now on are not lost
    for (const [question, { post, posting }] of answers) {
      await posting.catch(() => undefined)
      if (!this.#answers.has(question)) return
      const response = await post(authorization).catch(() => undefined)
      await response?.body?.cancel()
    }
  }
}

/** Posts an answer, and repeats it when the connection is lost or a balancer finds no instance. */
export async function postPersistently(fetch: FetchLike, url: string | URL, init: RequestInit): Promise<Response> {
  const retries = new Retries()
  for (;;) {
    const outcome = await post(fetch, url, init)
    const isResponse = outcome instanceof Response
    if (isResponse && !NOBODY_THERE.has(outcome.status)) return outcome
    const pauseMs = retries.nextPauseMs(isResponse ? retryAfterMsOf(outcome) : 0)
    if (pauseMs === undefined) {
      if (isResponse) return outcome
      throw outcome
    }
    if (isResponse) await outcome.body?.cancel()
    await sleep(pauseMs, init.signal ?? new AbortController().signal)
  }
}

/** A failure of the network is a TypeError of `fetch`. Other errors, such as that of an abort, are thrown. */
async function post(fetch: FetchLike, url: string | URL, init: RequestInit): Promise<Response | TypeError> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (error instanceof TypeError) return error
    throw error
  }
}
