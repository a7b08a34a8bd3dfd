/**
 * Serves the page of a question: the form, and later the outcome. The caller's own question needs the link alone. Any
 * other one needs a login, and shows nothing of the question before it.
 */
import { hash } from 'node:crypto'
import { errorDetails } from '../../protocol/index.ts'
import {
  type Field,
  loginPage,
  noticePage,
  PAGE_STYLE,
  questionPage,
  readFields,
  readForm,
  visitorPage,
} from '../../questions/index.ts'
import type {
  LinkedQuestion,
  Logger,
  OpenQuestion,
  PageReply,
  PageRequest,
  Principal,
  QuestionAnswerer,
  QuestionDesk,
  QuestionSite,
} from '../../server/index.ts'
import { LoginFailed, PageLogin } from './login.ts'

/** The headers of each page: no scripts, no frames, nothing from elsewhere, no copy in a cache, no address in a referrer elsewhere. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', PAGE_STYLE, 'base64')}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const MAX_FORM_BYTES = 256 * 1024
const MAX_FORM_INPUTS = 2000
const AMPERSAND = 0x26

/** The query that begins a login at the page of a question. */
const BEGIN_LOGIN = 'login'

type Desk = Pick<QuestionDesk, 'find' | 'known' | 'answer' | 'approversOf'>

/** A question, the visitor of its page, and the role of the visitor's answer. */
interface Visit {
  readonly linked: LinkedQuestion
  /** Undefined for the caller of the question, who has the link. */
  readonly principal: Principal | undefined
  readonly answerer: QuestionAnswerer
}

export class QuestionPages {
  readonly #desk: Desk
  readonly #site: QuestionSite
  readonly #login: PageLogin | undefined
  readonly #logger: () => Logger

  constructor(desk: Desk, site: QuestionSite, logger: () => Logger) {
    this.#desk = desk
    this.#site = site
    this.#login = site.login && new PageLogin(site.login)
    this.#logger = logger
  }

  async serve(request: PageRequest): Promise<PageReply> {
    try {
      const isReturn = this.#site.login?.isReturn(request.path) ?? false
      return await (isReturn ? this.#finishLogin(request) : this.#page(request))
    } catch (error) {
      if (!(error instanceof LoginFailed)) throw error
      this.#logger().info({ err: errorDetails(error.cause ?? error) }, 'A login at the page of a question failed.')
      return notice(error.status, 'You are not logged in', error.message)
    }
  }

  async #page(request: PageRequest): Promise<PageReply> {
    const linked = await this.#site.links.open(request.path)
    if (linked === undefined)
      return notice(
        404,
        'This link does not work',
        'It has expired, or it is not complete. Ask for a new one where you got it.',
      )
    if (request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'POST')
      return notice(405, 'This page is a form', 'Open it in a browser, and send the form.')
    if (linked.owner !== undefined)
      return this.#visit(request, { linked, principal: undefined, answerer: { owner: linked.owner } })
    if (this.#login === undefined) return notice(404, 'This link does not work', 'Logins are no longer possible here.')
    if (request.method === 'GET' && request.query === BEGIN_LOGIN)
      return this.#login.begin(request, this.#site.links.addressOf(request.path))
    const principal = await this.#login.principal(request.header)
    if (principal === undefined) return reply(401, loginPage(this.#site.server))
    return this.#visit(request, { linked, principal, answerer: { principal } })
  }

  async #visit(request: PageRequest, visit: Visit): Promise<PageReply> {
    const isPost = request.method === 'POST'
    if (isPost && this.#isFromElsewhere(request))
      return notice(403, 'This form came from another page', 'Open the link itself, and answer there.')
    const body = isPost ? await formBody(request) : undefined
    if (isPost && body === undefined) return notice(413, 'The answer is too long', 'Go back, and shorten it.')
    if (body?.get('action') === 'logout' && this.#login !== undefined)
      return this.#login.end(this.#site.links.addressOf(request.path))
    const question = await this.#desk.find(visit.linked.question, visit.answerer)
    if (question === undefined) return this.#closed(visit)
    return body === undefined ? this.#form(200, question, visit) : this.#answer(body, visit, question)
  }

  async #answer(body: URLSearchParams, visit: Visit, question: OpenQuestion): Promise<PageReply> {
    const action = body.get('action')
    if (action === 'decline') return this.#stored(visit, question, { action: 'decline' }, 'You declined')
    if (action !== 'accept') return this.#form(400, question, visit, { entered: body, isUndecided: true })
    const shown = shownForm(question)
    if (shown.unshown !== undefined) return this.#form(422, question, visit)
    const reading = readForm(shown.fields, body)
    if (!reading.ok) return this.#form(422, question, visit, { entered: body, issues: reading.issues })
    return this.#stored(visit, question, { action: 'accept', content: reading.content }, 'Your answer was sent')
  }

  async #stored(
    visit: Visit,
    question: OpenQuestion,
    response: { action: string; content?: unknown },
    heading: string,
  ): Promise<PageReply> {
    const isStored = await this.#desk.answer(question, visit.answerer, response, 'page')
    return isStored ? notice(200, heading, 'The call continues. You can close this page.') : this.#closed(visit)
  }

  /** The question is not open for this visitor: it is closed, or for others. */
  async #closed({ linked, principal, answerer }: Visit): Promise<PageReply> {
    const known = await this.#desk.known(linked.question, answerer)
    const isHidden = known === undefined || known.outcome.state === 'open'
    const approvers = isHidden && principal !== undefined ? await this.#desk.approversOf(linked.question) : undefined
    if (approvers !== undefined && principal !== undefined) {
      const but = approvers.fourEyes ? ', but not by the person whose call asks it' : ''
      const who = `It can be answered by ${approvers.by.join(' or ')}${but}.`
      return reply(403, visitorPage('This question is for others', nameOf(principal), who))
    }
    const why = known?.sentence ?? 'Its call is no longer stored.'
    return notice(410, 'This question is closed', why, 'Nothing was changed by this visit.')
  }

  #form(
    status: number,
    question: OpenQuestion,
    { principal }: Visit,
    sent: Pick<Parameters<typeof questionPage>[0], 'entered' | 'issues' | 'isUndecided'> = {},
  ): PageReply {
    const { tool, message, expiresAt } = question
    const about = { server: this.#site.server, tool, message, expiresAt, ...shownForm(question) }
    return reply(status, questionPage({ ...about, ...sent, visitor: principal && nameOf(principal) }))
  }

  async #finishLogin(request: PageRequest): Promise<PageReply> {
    if (this.#login === undefined || request.method !== 'GET')
      return notice(405, 'This address ends a login', 'Open the link of the question.')
    return this.#login.finish(request)
  }

  /** Whether a browser says that another site sent the form. */
  #isFromElsewhere({ header }: PageRequest): boolean {
    if (header('sec-fetch-site') === 'cross-site') return true
    const origin = header('origin')
    if (origin === undefined || origin === this.#site.links.origin) return false
    return !URL.canParse(origin) || new URL(origin).host !== header('host')
  }
}

interface ShownForm {
  readonly fields: readonly Field[]
  readonly unshown?: string
}

/** The fields of a question, or why its form cannot be shown: a server may ask for anything. */
function shownForm({ requestedSchema }: OpenQuestion): ShownForm {
  try {
    const fields = readFields(requestedSchema)
    const isLarge = inputsOf(fields) > MAX_FORM_INPUTS || JSON.stringify(requestedSchema).length > MAX_FORM_BYTES
    return isLarge ? { fields: [], unshown: `The form is too large to be shown. ${DECLINE}` } : { fields }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return { fields: [], unshown: `${error.message} ${DECLINE}` }
  }
}

const DECLINE = 'It can only be declined here.'

function inputsOf(fields: readonly Field[]): number {
  return fields.reduce((sum, field) => sum + 1 + ('choices' in field ? field.choices.length : 0), 0)
}

function nameOf({ subject, id }: Principal): string {
  return subject ?? id
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
