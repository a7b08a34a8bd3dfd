/**
 * The open questions for programs, below the endpoint: `GET …/questions` lists those that the caller may answer, `GET …/questions/ID`
 * gives one and what became of it, and `POST …/questions/ID` answers it.
 */
import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import { ServerError } from '../errors.ts'
import type { Programs } from '../http/endpoint.ts'
import type { EndpointRequest, HttpReply } from '../http/exchange.ts'
import { refusal } from '../http/refusal.ts'
import type { OpenQuestion } from '../taskPort.ts'
import { MAX_PAGE, type OpenQuestionFilter, type QuestionAnswer, type ServerQuestions } from './openQuestions.ts'

const PATH = /\/questions(?:\/([^/]+))?$/

interface ProgramsOptions {
  readonly questions: () => ServerQuestions
  /** The name of the server. */
  readonly server: string
  /** The page of a question, if it has one for this principal. */
  readonly linkOf: (question: OpenQuestion, principal: Principal) => string | undefined
}

export class QuestionPrograms implements Programs {
  readonly #options: ProgramsOptions

  constructor(options: ProgramsOptions) {
    this.#options = options
  }

  has(path: string): boolean {
    return PATH.test(path)
  }

  async serve(request: EndpointRequest, principal: Principal | undefined): Promise<HttpReply> {
    if (principal === undefined) return refusal(401, 'Questions are listed for callers with a name.')
    const id = idIn(request.path)
    if (request.method === 'GET') return id === undefined ? this.#list(request, principal) : this.#known(id, principal)
    if (request.method === 'POST' && id !== undefined) return this.#answer(request, id, principal)
    return refusal(405, 'Lists are read with GET, and an answer to …/questions/ID is sent with POST.')
  }

  async #list({ query }: EndpointRequest, principal: Principal): Promise<HttpReply> {
    const given = new URLSearchParams(query)
    const { questions, server } = this.#options
    if ((given.get('server') ?? server) !== server) return ok({ questions: [] })
    const { questions: found, nextCursor } = await questions().open(filterIn(given, principal))
    const shown = found.map((question) => this.#shown(question, principal))
    return ok({ questions: shown, ...(nextCursor !== undefined && { nextCursor }) })
  }

  async #known(id: string, principal: Principal): Promise<HttpReply> {
    const known = await this.#options.questions().find(id, principal)
    return known === undefined ? refusal(404, NOT_FOUND) : ok(this.#shown(known, principal))
  }

  async #answer(request: EndpointRequest, id: string, principal: Principal): Promise<HttpReply> {
    const answer = readAnswer(await request.json())
    if (answer === undefined) return refusal(400, SHAPE)
    try {
      await this.#options.questions().answer(id, answer, principal)
      return await this.#known(id, principal)
    } catch (error) {
      if (error instanceof ServerError && error.code === 'QUESTION_CLOSED') return refusal(409, error.message)
      throw error
    }
  }

  #shown(question: OpenQuestion, principal: Principal): Json {
    const { server, linkOf } = this.#options
    const url = linkOf(question, principal)
    return { ...question, server, ...(url !== undefined && { url }) }
  }
}

const NOT_FOUND = 'There is no such question for this caller.'
const SHAPE = 'An answer is { "action": "accept", "content": { … } }, or has the action "decline" or "cancel".'

function ok(value: Json): HttpReply {
  return { status: 200, headers: { 'cache-control': 'no-store' }, body: JSON.stringify(value) }
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
