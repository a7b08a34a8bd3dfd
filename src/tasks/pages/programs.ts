/**
 * The open questions for programs, below the endpoint: `GET …/questions` lists the questions that the caller may
 * answer, `GET …/questions/ID` returns one with its outcome, and `POST …/questions/ID` answers it.
 */
import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import type {
  OpenQuestion,
  OpenQuestionFilter,
  PageReply,
  Principal,
  ProgramRequest,
  ProgramSite,
  QuestionAnswer,
} from '../../server/index.ts'

const PATH = /\/questions(?:\/([^/]+))?$/

export class QuestionPrograms {
  readonly #site: ProgramSite

  constructor(site: ProgramSite) {
    this.#site = site
  }

  has(path: string): boolean {
    return PATH.test(path)
  }

  async serve(request: ProgramRequest, principal: Principal | undefined): Promise<PageReply> {
    if (principal === undefined) return refusal(401, 'Questions are listed for callers with a name.')
    const id = idIn(request.path)
    if (request.method === 'GET') return id === undefined ? this.#list(request, principal) : this.#known(id, principal)
    if (request.method === 'POST' && id !== undefined) return this.#answer(request, id, principal)
    return refusal(405, 'Lists are read with GET, and an answer to …/questions/ID is sent with POST.')
  }

  async #list({ query }: ProgramRequest, principal: Principal): Promise<PageReply> {
    const given = new URLSearchParams(query)
    const { questions, server } = this.#site
    if ((given.get('server') ?? server) !== server) return ok({ questions: [] })
    const { questions: found, nextCursor } = await questions().open(filterIn(given, principal))
    const shown = await Promise.all(found.map((question) => this.#shown(question, principal)))
    return ok({ questions: shown, ...(nextCursor !== undefined && { nextCursor }) })
  }

  async #known(id: string, principal: Principal): Promise<PageReply> {
    const known = await this.#site.questions().find(id, principal)
    return known === undefined ? refusal(404, NOT_FOUND) : ok(await this.#shown(known, principal))
  }

  async #answer(request: ProgramRequest, id: string, principal: Principal): Promise<PageReply> {
    const answer = readAnswer(await request.json())
    if (answer === undefined) return refusal(400, SHAPE)
    try {
      await this.#site.questions().answer(id, answer, principal)
      return await this.#known(id, principal)
    } catch (error) {
      if (isClosed(error)) return refusal(409, error.message)
      throw error
    }
  }

  async #shown(question: OpenQuestion, principal: Principal): Promise<Json> {
    const { server, linkOf } = this.#site
    const url = await linkOf(question, principal)
    return { ...question, server, ...(url !== undefined && { url }) }
  }
}

const NOT_FOUND = 'There is no such question for this caller.'
const SHAPE = 'An answer is { "action": "accept", "content": { … } }, or has the action "decline" or "cancel".'

/** The largest page. */
const MAX_PAGE = 1000

function ok(value: Json): PageReply {
  return reply(200, value)
}

function refusal(status: number, message: string): PageReply {
  return reply(status, { error: { message } })
}

function reply(status: number, value: Json): PageReply {
  return { status, headers: { 'cache-control': 'no-store' }, type: 'application/json', body: JSON.stringify(value) }
}

/** Classes of the server are not imported here. */
function isClosed(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'QUESTION_CLOSED'
}

function idIn(path: string): string | undefined {
  const id = PATH.exec(path)?.[1]
  if (id === undefined) return undefined
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}

function filterIn(given: URLSearchParams, principal: Principal): OpenQuestionFilter {
  const [tool, cursor, age, limit] = ['tool', 'cursor', 'olderThanMs', 'limit'].map((name) => given.get(name))
  return {
    for: principal,
    ...(tool && { tool }),
    ...(cursor && { cursor }),
    ...(age && { olderThanMs: numberIn('olderThanMs', age, Number.MAX_SAFE_INTEGER) }),
    ...(limit && { limit: numberIn('limit', limit, MAX_PAGE) }),
  }
}

function numberIn(name: string, text: string, max: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= 1 && number <= max) return number
  throw new ProtocolError('PARAMS_INVALID', `"${name}" is a whole number from 1 to ${max}.`)
}

function readAnswer(body: unknown): QuestionAnswer | undefined {
  if (!isObject(body)) return undefined
  const { action, content = {} } = body
  if (action === 'decline' || action === 'cancel') return action
  return action === 'accept' && isObject(content) ? content : undefined
}
