/**
 * Channels by which people are notified of open questions: a signed webhook, a chat, mail. nodemailer is loaded with the first mail.
 */

/** The notice that people get when a question waits for them. It has no arguments and no answers. */
export interface QuestionNotice {
  /** Equal for all attempts to send one notice by one channel. */
  readonly id: string
  /** The id of the question. */
  readonly question: string
  readonly server: string
  readonly tool: string
  /** The subject of the caller, who may have no name. */
  readonly caller: string | undefined
  readonly message: string
  /** The names of which one may answer; undefined if the caller is asked. */
  readonly by: readonly string[] | undefined
  /** The page of the question; undefined without a page. */
  readonly link: string | undefined
  /** Milliseconds since 1970. */
  readonly askedAt: number
  /** Milliseconds since 1970; null without a limit. */
  readonly expiresAt: number | null
  /** Counted from 1. */
  readonly attempt: number
}

/** Sends notices to people. */
export interface NoticeChannel {
  /** Names the channel among those of a server, also in its store. */
  readonly name: string
  /** Rejects if the notice was not delivered: then it is sent again, with the same `id`. */
  send(notice: QuestionNotice, signal: AbortSignal): Promise<void>
}

const LINE_BREAK = /\r\n|[\n\r\u2028\u2029\u0085\v\f]/g
const MAX_MESSAGE_CHARS = 4000

/** A notice as a text of a few lines. The message is a quotation, because its lines could pass for those of the notice. */
function noticeText({ server, tool, caller, message, link, expiresAt }: QuestionNotice): string {
  const who = caller === undefined ? 'A caller' : caller.replaceAll(LINE_BREAK, ' ')
  const until = expiresAt === null ? [] : [`It can be answered until ${new Date(expiresAt).toISOString()}.`]
  return [
    `${who} called ${tool.replaceAll(LINE_BREAK, ' ')} of ${server}, and it asks:`,
    ...quoted(message),
    ...(link === undefined ? [] : [`Answer here: ${link}`]),
    ...until,
  ].join('\n')
}

function quoted(message: string): readonly string[] {
  const shown = message.length > MAX_MESSAGE_CHARS ? `${message.slice(0, MAX_MESSAGE_CHARS)} … (cut)` : message
  return shown.split(LINE_BREAK).map((line) => `> ${line}`)
}

export interface WebhookOptions {
  /** Where each notice is posted as JSON. */
  url: string
  /** The secret that signs it, as base64 with or without `whsec_` before it. */
  secret: string
  /** Names the channel in the log and the store. @default 'webhook' */
  name?: string
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

/**
 * Posts notices to a program, signed as Standard Webhooks say: `webhook-id`, `webhook-timestamp` and `webhook-signature`. An id
 * that comes again is a repetition.
 */
export function webhook({ url, secret, name = 'webhook', clock = Date.now }: WebhookOptions): NoticeChannel {
  const key = keyOf(secret)
  assertUrl(url)
  return {
    name,
    send: async (notice, signal) => {
      const body = JSON.stringify({ type: 'question.asked', data: notice })
      const seconds = String(Math.floor(clock() / 1000))
      const signature = await signed(key, `${notice.id}.${seconds}.${body}`)
      const headers = {
        'webhook-id': notice.id,
        'webhook-timestamp': seconds,
        'webhook-signature': `v1,${signature}`,
      }
      await post(url, body, headers, signal)
    },
  }
}

export interface ChatOptions {
  /** The address of an incoming webhook, as Slack, Mattermost and others have them. It is a secret. */
  url: string
  /** Names the channel in the log and the store. @default 'chat' */
  name?: string
  /** The body for a chat that takes another one. @default `{"text": …}` */
  body?: (notice: QuestionNotice) => unknown
}

/** Posts notices as messages of a chat. */
export function chat({ url, name = 'chat', body = textBody }: ChatOptions): NoticeChannel {
  assertUrl(url)
  return { name, send: (notice, signal) => post(url, JSON.stringify(body(notice)), {}, signal) }
}

function textBody(notice: QuestionNotice): unknown {
  // Chats read <…> as links and mentions, which a message could forge.
  return { text: noticeText(notice).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;') }
}

/** The address is a secret of some chats, so no error names it. */
async function post(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    redirect: 'error',
    signal,
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`The receiver answered with status ${response.status}.`)
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, '')), (character) => character.charCodeAt(0))
  if (bytes.length >= 16) return bytes
  throw new TypeError('The secret of a webhook has at least 16 bytes, written as base64.')
}

function assertUrl(url: string): void {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new TypeError('The url of a webhook is an http or https address.')
}

async function signed(key: Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  const { subtle } = globalThis.crypto
  const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const digest = await subtle.sign('HMAC', imported, new TextEncoder().encode(text))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
}

export interface MailOptions {
  /** The server, such as `smtps://user:password@mail.example.com`. */
  smtp: string
  /** The sender of the mails. */
  from: string
  /** The receivers of a notice; a notice without any is not sent. */
  to: string | ((notice: QuestionNotice) => readonly string[] | Promise<readonly string[]>)
  /** Names the channel in the log and the store. @default 'mail' */
  name?: string
}

/** How long the server for mails may be silent, in milliseconds. */
const MAIL_SILENCE_MS = 10_000
const MAIL_TIMES = {
  connectionTimeout: MAIL_SILENCE_MS,
  greetingTimeout: MAIL_SILENCE_MS,
  socketTimeout: MAIL_SILENCE_MS,
}

/** Sends notices by mail. It needs the package `nodemailer`. */
export function mail({ smtp, from, to, name = 'mail' }: MailOptions): NoticeChannel {
  if (!/^smtps?:\/\//.test(smtp)) throw new TypeError('The option smtp of mail begins with smtp:// or smtps://.')
  return {
    name,
    send: async (notice) => {
      const receivers = typeof to === 'string' ? [to] : await to(notice)
      if (receivers.length === 0) return
      const { createTransport } = await loadNodemailer()
      const transport = createTransport({ url: smtp, ...MAIL_TIMES })
      try {
        const subject = `${notice.tool} of ${notice.server} waits for an answer`
        const messageId = `<${notice.id.replaceAll(/[^\w.-]/g, '.')}@pannier>`
        await transport.sendMail({ from, to: [...receivers], subject, text: noticeText(notice), messageId })
      } finally {
        transport.close()
      }
    },
  }
}

async function loadNodemailer() {
  try {
    return await import('nodemailer')
  } catch (cause) {
    throw new Error('Mail needs the package nodemailer: npm install nodemailer.', { cause })
  }
}
