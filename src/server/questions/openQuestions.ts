/** The questions of a server, for its author's application: the open questions of a principal, and their answers. */
import { ProtocolError } from '../../protocol/index.ts'
import { namesOf } from '../auth/approval.ts'
import { assertNamed, type Principal } from '../auth/authenticator.ts'
import { ServerError } from '../errors.ts'
import type {
  KnownQuestion,
  OpenQuestionFilter,
  OpenQuestionPage,
  ProgramQuestions,
  QuestionAnswer,
  QuestionDesk,
} from '../taskPort.ts'

/** The names in `by` that a principal has, for a server whose `approves` reads other claims than the default. */
export type NamesOf = (principal: Principal) => readonly string[]

export class ServerQuestions implements ProgramQuestions {
  readonly #desk: () => QuestionDesk | undefined
  readonly #names: NamesOf
  readonly #mayCall: (principal: Principal, tool: string) => boolean
  readonly #clock: () => number

  /** `mayCall`: callers answer their own questions only while they may call the tool. */
  constructor(
    desk: () => QuestionDesk | undefined,
    mayCall: (principal: Principal, tool: string) => boolean,
    names: NamesOf = namesOf,
    clock: () => number = Date.now,
  ) {
    this.#desk = desk
    this.#mayCall = mayCall
    this.#names = names
    this.#clock = clock
  }

  /** The open questions that a principal may answer, oldest first. */
  async open({
    for: principal,
    tool,
    olderThanMs,
    cursor,
    limit = 100,
  }: OpenQuestionFilter): Promise<OpenQuestionPage> {
    assertNamed(principal)
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
      throw new TypeError('The limit of a page of questions is a whole number from 1 to 1000.')
    const askedBefore = olderThanMs === undefined ? undefined : this.#clock() - olderThanMs
    return this.#opened.list({
      answerer: { principal },
      names: this.#names(principal),
      tool,
      askedBefore,
      cursor,
      limit,
    })
  }

  /**
   * A question and its outcome, as long as its call is stored. Undefined unless the principal is its caller or may
   * answer it.
   */
  async find(id: string, principal: Principal): Promise<KnownQuestion | undefined> {
    assertNamed(principal)
    return this.#opened.known(id, { principal })
  }

  /** Answers a question as this principal. Throws QUESTION_CLOSED if it was answered or is for others. */
  async answer(id: string, answer: QuestionAnswer, principal: Principal): Promise<void> {
    assertNamed(principal)
    const question = await this.#opened.find(id, { principal })
    if (question === undefined || (question.by === undefined && !this.#mayCall(principal, question.tool)))
      throw await this.#closed(id, principal)
    const response = typeof answer === 'string' ? { action: answer } : { action: 'accept', content: answer }
    const problems = typeof answer === 'string' ? [] : this.#opened.problems(question, answer)
    if (problems.length > 0) throw new ProtocolError('PARAMS_INVALID', `The answer does not fit: ${problems.join(' ')}`)
    if (!(await this.#opened.answer(question, { principal }, response, 'program')))
      throw await this.#closed(id, principal)
  }

  /** The error has the outcome of the question for principals who may see it. */
  async #closed(id: string, principal: Principal): Promise<ServerError> {
    const known = await this.#opened.known(id, { principal })
    const isClosed = known !== undefined && known.outcome.state !== 'open'
    return new ServerError('QUESTION_CLOSED', isClosed ? `This question is closed. ${known.sentence}` : CLOSED)
  }

  get #opened(): QuestionDesk {
    const desk = this.#desk()
    if (desk !== undefined) return desk
    throw new TypeError('Questions are stored with tasks: createServer({ tasks: sqliteTasks({ path }) }).')
  }
}

const CLOSED = 'No such question is open for this principal: others are asked, or its call is no longer stored.'
