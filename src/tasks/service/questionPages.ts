/** Serves the page of a question to whoever has its link: the form, and what came of it. */
import { hash } from 'node:crypto'
import { noticePage, PAGE_STYLE, questionPage, readFields, readForm } from '../../questions/index.ts'
import type {
  LinkedQuestion,
  OpenQuestion,
  PageReply,
  PageRequest,
  QuestionDesk,
  QuestionSite,
} from '../../server/index.ts'

/** The headers of each page: no scripts, no frames, nothing from elsewhere, no copy in a cache, no address in a referrer. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', PAGE_STYLE, 'base64')}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const MAX_FORM_BYTES = 256 * 1024
const MAX_FORM_INPUTS = 2000
const AMPERSAND = 0x26

export class QuestionPages {
  readonly #desk: Pick<QuestionDesk, 'find' | 'known' | 'answer'>
  readonly #site: QuestionSite

  constructor(desk: Pick<QuestionDesk, 'find' | 'known' | 'answer'>, site: QuestionSite) {
    this.#desk = desk
    this.#site = site
  }

  async serve(request: PageRequest): Promise<PageReply> {
    const linked = await this.#site.links.open(request.path)
    if (linked === undefined)
      return notice(
        404,
        'This link does not work',
        'It has expired, or it is not complete. Ask for a new one where you got it.',
      )
    if (request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'POST')
      return notice(405, 'This page is a form', 'Open it in a browser, and send the form.')
    const question = await this.#desk.find(linked.question, { owner: linked.owner })
    if (question === undefined) return this.#closed(linked)
    return request.method === 'POST' ? this.#answer(request, linked, question) : this.#form(200, question)
  }

  async #answer(request: PageRequest, linked: LinkedQuestion, question: OpenQuestion): Promise<PageReply> {
    if (this.#isFromElsewhere(request))
      return notice(403, 'This form came from another page', 'Open the link itself, and answer there.')
    const body = await formBody(request)
    if (body === undefined) return notice(413, 'The answer is too long', 'Go back, and shorten it.')
    const action = body.get('action')
    if (action === 'decline') return this.#stored(linked, question, { action: 'decline' }, 'You declined')
    if (action !== 'accept') return this.#form(400, question)
    const reading = readForm(readFields(question.requestedSchema), body)
    if (!reading.ok) return this.#form(422, question, body, reading.issues)
    return this.#stored(linked, question, { action: 'accept', content: reading.content }, 'Your answer was sent')
  }

  async #stored(
    linked: LinkedQuestion,
    question: OpenQuestion,
    response: { action: string; content?: unknown },
    heading: string,
  ): Promise<PageReply> {
    const { owner } = linked
    const isStored = await this.#desk.answer(question, { owner }, response, 'page')
    return isStored ? notice(200, heading, 'The call continues. You can close this page.') : this.#closed(linked)
  }

  async #closed({ question, owner }: LinkedQuestion): Promise<PageReply> {
    const known = await this.#desk.known(question, { owner })
    const why = known?.sentence ?? 'Its call is no longer stored.'
    return notice(410, 'This question is closed', why, 'Nothing was changed by this visit.')
  }

  #form(
    status: number,
    question: OpenQuestion,
    entered?: URLSearchParams,
    issues?: ReadonlyMap<string, string>,
  ): PageReply {
    const { message, requestedSchema, tool, expiresAt } = question
    const { server } = this.#site
    const fields = readFields(requestedSchema)
    return reply(status, questionPage({ server, tool, message, fields, expiresAt, entered, issues }))
  }

  /** Whether a browser says that another site sent the form. */
  #isFromElsewhere({ header }: PageRequest): boolean {
    if (header('sec-fetch-site') === 'cross-site') return true
    const origin = header('origin')
    if (origin === undefined || origin === this.#site.links.origin) return false
    return !URL.canParse(origin) || new URL(origin).host !== header('host')
  }
}

async function formBody(request: PageRequest): Promise<URLSearchParams | undefined> {
  if (request.declaredBytes > MAX_FORM_BYTES) return undefined
  const bytes = await request.whole()
  if (bytes.length > MAX_FORM_BYTES) return undefined
  let inputs = 1
  for (const byte of bytes) if (byte === AMPERSAND) inputs++
  return inputs > MAX_FORM_INPUTS ? undefined : new URLSearchParams(Buffer.from(bytes).toString())
}

function notice(status: number, heading: string, ...sentences: readonly string[]): PageReply {
  return reply(status, noticePage(heading, ...sentences))
}

function reply(status: number, body: string): PageReply {
  return { status, headers: HEADERS, type: 'text/html; charset=utf-8', body }
}
