/**
 * Sends the notices of the outbox. Each is sent at least once, also after a crash. A notice that a channel did not take is sent
 * again after a pause that doubles, and given up in the end: it stays in the list of open questions as undelivered.
 */
import { backoffMs, isObject, settledWithin, unref } from '../../protocol/index.ts'
import type { Logger, QuestionNotice, NoticeSite } from '../../server/index.ts'
import type { DueNotice, OpenQuestionRecord, TaskEngine } from '../engine.ts'
import { digestOf } from './dialect.ts'
import { toQuestion } from './questionDesk.ts'

/** How often the outbox is read, in milliseconds. */
const POLL_MS = 1000
/** The timeout of one attempt. */
const SEND_MS = 10_000
/** How long a process that ends waits for attempts under way. */
const CLOSE_MS = 1000
/** A notice whose process has died is sent by another one after this time. */
const CLAIM_MS = 3 * SEND_MS
const PAUSES = { firstMs: 10_000, maxMs: 3_600_000 }
/** The last attempt comes about seven hours after the first. */
const MAX_ATTEMPTS = 15

export class NoticeSender {
  readonly #engine: TaskEngine
  readonly #site: NoticeSite
  readonly #logger: () => Logger
  readonly #timer: NodeJS.Timeout | number
  readonly #closing = new AbortController()
  #sending: Promise<void> | undefined

  constructor(engine: TaskEngine, site: NoticeSite, logger: () => Logger) {
    this.#engine = engine
    this.#site = site
    this.#logger = logger
    this.#timer = unref(setInterval(() => void this.send(), POLL_MS))
  }

  /** Sends the notices that are due. */
  send(): Promise<void> {
    this.#sending ??= this.#sendDue().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  /** Waits a moment for notices that are being sent. Others are sent again, by the next process. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await settledWithin(this.#sending, CLOSE_MS)
    this.#closing.abort()
    await this.#sending
  }

  async #sendDue(): Promise<void> {
    try {
      const due = await this.#engine.notices.claim(CLAIM_MS)
      await Promise.all(due.map((notice) => this.#sendOne(notice)))
    } catch (error) {
      this.#logger().warn({ err: reasonOf(error) }, 'The outbox of notices cannot be read; it is tried again.')
    }
  }

  async #sendOne({ question, channel: name, attempt }: DueNotice): Promise<void> {
    const ref = { place: question.place, channel: name }
    const channel = this.#site.channels.find((each) => each.name === name)
    if (channel === undefined) return
    const notice = await this.#noticeOf({ question, channel: name, attempt })
    try {
      await this.#inTime((signal) => channel.send(notice, signal))
      this.#site.counted(name, 'sent')
      await this.#engine.notices.remove(ref)
    } catch (error) {
      if (this.#closing.signal.aborted) return // its claim expires
      const isLast = attempt >= MAX_ATTEMPTS
      this.#site.counted(name, isLast ? 'given_up' : 'failed')
      const details = { channel: name, question: notice.question, attempt, err: reasonOf(error) }
      if (isLast) this.#logger().error(details, 'A notice was dropped: the channel did not deliver this question.')
      else this.#logger().warn(details, 'A notice could not be sent; it is tried again.')
      await this.#engine.notices.postpone(ref, isLast ? undefined : backoffMs(attempt, PAUSES))
    }
  }

  /** Rejects when the time is over, also where the channel does not heed its signal. */
  async #inTime(send: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), SEND_MS)
    const signal = AbortSignal.any([late.signal, this.#closing.signal])
    const aborted = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => aborted.reject(new Error('It was not sent in time.')), { once: true })
    try {
      await Promise.race([send(signal), aborted.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  async #noticeOf({ question, channel, attempt }: DueNotice): Promise<QuestionNotice> {
    const { id, tool, caller, message, by, askedAt, expiresAt } = toQuestion(question)
    const link = await this.#site.linkTo(
      by === undefined ? { question: id, owner: ownerIn(question) } : { question: id },
    )
    const { server } = this.#site
    return {
      id: `${id}:${channel}`,
      question: id,
      server,
      tool,
      caller,
      message,
      by,
      link,
      askedAt,
      expiresAt,
      attempt,
    }
  }
}

/** The owner of a call, as the store names it. */
function ownerIn({ caller: { principal } }: OpenQuestionRecord): string {
  return isObject(principal) ? digestOf(String(principal['id'])) : ''
}

/** The message of an error may name an address with a secret. */
function reasonOf(error: unknown): object {
  if (!(error instanceof Error)) return {}
  const { name, message, cause } = error
  const code = isObject(cause) ? cause['code'] : undefined
  return { name, message: message.replaceAll(/\w+:\/\/\S+/g, '…'), ...(typeof code === 'string' && { code }) }
}
