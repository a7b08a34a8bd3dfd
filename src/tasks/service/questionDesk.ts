/**
 * Open questions as people answer them outside of the client of the call, and the calls that wait for them. The id of a question
 * is that of its task and its key on the wire. A person sees the questions that they may answer; for everybody else a question
 * does not exist.
 */
import { answererOf, type Approvers } from '../../journal/index.ts'
import { ASK_MODEL_META, isObject, type Json, ProtocolError, TOOL_META } from '../../protocol/index.ts'
import { contentProblems, outcomeSentence, readFields } from '../../questions/index.ts'
import type {
  QuestionAnswerer,
  Call,
  Caller,
  AnswerWay,
  KnownQuestion,
  NewDeferred,
  OpenQuestion,
  OpenQuestionPage,
  OpenQuestionsQuery,
  PageReply,
  PageRequest,
  DeferredCalls,
  DeferredCallsSite,
  Principal,
  ProgramSite,
  QuestionDesk,
  QuestionSite,
  TaskHost,
  DeferredCall,
  WhichDeferred,
} from '../../server/index.ts'
import type { NewTask, OpenQuestionRecord, QuestionRecord, TaskEngine, TaskRecord } from '../engine.ts'
import { assertKnown, digestOf, ownerOf, withClientErrors } from './dialect.ts'
import { StoredCalls } from '../pages/deferredCalls.ts'
import { QuestionPrograms } from '../pages/programs.ts'
import { QuestionPages } from '../pages/questionPages.ts'
import { waitForTask } from './waitFor.ts'

export interface DeskOptions {
  /** Resolves with the engine once it is open. */
  readonly engine: () => Promise<TaskEngine>
  readonly host: Pick<TaskHost, 'mayAnswer' | 'logger'>
  /** Stores a task of this call. */
  readonly store: (call: Call, work: StoredWork) => Promise<TaskRecord>
}

export type StoredWork = Pick<NewTask, 'tool' | 'args' | 'journal' | 'ttlMs' | 'answerMs' | 'same'> & {
  readonly waits?: boolean
}

/** How long a request waits for a call that is at work, in milliseconds. */
const WAIT_MS = 10_000
/** How long a request waits for a person who has opened a page. Clients give up after a minute. */
const ANSWER_WAIT_MS = 45_000
/** The number of rows that are read at a time, until a page is full. */
const PORTION = 20
/** The maximum for one page: the rule of a server may refuse all rows of a portion. */
const MAX_PORTIONS = 100
/** The limit of a page, in characters of questions, because a server decides how large its questions are. */
const MAX_PAGE_CHARS = 1_000_000

export class EngineQuestionDesk implements QuestionDesk {
  readonly #options: DeskOptions

  constructor(options: DeskOptions) {
    this.#options = options
  }

  async create(call: Call, work: NewDeferred): Promise<DeferredCall> {
    const { id } = await this.#options.store(call, { ...work, ttlMs: null, waits: true })
    return assertKnown(await this.#waiting(call, { ticket: id }))
  }

  waiting(caller: Pick<Caller, 'principal'>, which: WhichDeferred): Promise<DeferredCall | undefined> {
    return this.#waiting(caller, which)
  }

  async answered(caller: Pick<Caller, 'principal'>, id: string, signal: AbortSignal): Promise<DeferredCall> {
    const engine = await this.#options.engine()
    const owner = ownerOf(caller)
    const read = (): Promise<TaskRecord | undefined> => engine.read(id, owner)
    const until = ({ status }: TaskRecord): boolean => status !== 'input_required'
    const patience = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WAIT_MS)])
    await waitForTask(engine, { id, read, until, signal: patience })
    return assertKnown(await this.#waiting(caller, { ticket: id }))
  }

  async taken(caller: Pick<Caller, 'principal'>, id: string): Promise<void> {
    await (await this.#options.engine()).forgetCall(id, ownerOf(caller))
  }

  async list({
    answerer,
    names,
    tool,
    askedBefore = Infinity,
    cursor,
    limit,
  }: OpenQuestionsQuery): Promise<OpenQuestionPage> {
    const engine = await this.#options.engine()
    const questions: OpenQuestion[] = []
    const owner = nameOf(answerer)
    let after = readCursor(cursor)
    let chars = 0
    for (let portion = 0; portion < MAX_PORTIONS; portion++) {
      const rows = await engine.openQuestions({ owner, names, after, limit: Math.min(PORTION, limit + 1) })
      for (const row of rows) {
        // Questions are in the order in which they were asked.
        if (row.askedAt >= askedBefore) return { questions, nextCursor: undefined }
        if (questions.length === limit || chars > MAX_PAGE_CHARS) return { questions, nextCursor: String(after) }
        after = row.place
        const question = toQuestion(row)
        chars += JSON.stringify(row.request).length
        if ((tool === undefined || question.tool === tool) && this.#isFor(row, answerer)) questions.push(question)
      }
      if (rows.length === 0) return { questions, nextCursor: undefined }
    }
    return { questions, nextCursor: String(after) }
  }

  async find(id: string, answerer: QuestionAnswerer): Promise<OpenQuestion | undefined> {
    const row = await this.#read(id, answerer)
    return row?.outcome.state === 'open' && this.#isFor(row, answerer) ? toQuestion(row) : undefined
  }

  async known(id: string, viewer: QuestionAnswerer): Promise<KnownQuestion | undefined> {
    const row = await this.#read(id, viewer)
    if (row === undefined || !(row.isOwner || this.#isFor(row, viewer))) return undefined
    return { ...toQuestion(row), outcome: row.outcome, sentence: outcomeSentence(row.outcome) }
  }

  async answer({ id, by }: OpenQuestion, answerer: QuestionAnswerer, response: Json, way: AnswerWay): Promise<boolean> {
    const engine = await this.#options.engine()
    const { task, key } = readId(id)
    const owner = by === undefined ? nameOf(answerer) : undefined
    const giver = 'principal' in answerer ? answererOf(answerer.principal) : undefined
    return withClientErrors(engine.answerOne(task, owner, key, { response, by: giver, way }))
  }

  async cancel(caller: Pick<Caller, 'principal'>, id: string): Promise<DeferredCall | undefined> {
    return (await this.#options.engine()).cancel(id, ownerOf(caller))
  }

  problems({ requestedSchema }: OpenQuestion, content: Json): readonly string[] {
    return contentProblems(readFields(requestedSchema), content)
  }

  pages(site: QuestionSite): (request: PageRequest) => Promise<PageReply> {
    const pages = new QuestionPages(this, site, this.#options.host.logger)
    return (request) => pages.serve(request)
  }

  deferred(site: DeferredCallsSite): DeferredCalls {
    return new StoredCalls(this, site)
  }

  programs(site: ProgramSite): QuestionPrograms {
    return new QuestionPrograms(site)
  }

  async approversOf(id: string): Promise<Approvers | undefined> {
    const { task, key } = readId(id)
    return (await (await this.#options.engine()).question(task, key, undefined))?.approvers
  }

  ownerOf(caller: Pick<Caller, 'principal'>): string {
    return ownerOf(caller)
  }

  async #waiting(caller: Pick<Caller, 'principal'>, which: WhichDeferred): Promise<TaskRecord | undefined> {
    const engine = await this.#options.engine()
    const owner = ownerOf(caller)
    const found = 'ticket' in which ? await engine.read(which.ticket, owner) : await engine.sameCall(owner, which.same)
    if (found?.status !== 'working') return found
    const { id } = found
    const read = (): Promise<TaskRecord | undefined> => engine.read(id, owner)
    const signal = AbortSignal.timeout(WAIT_MS)
    const until = ({ status }: TaskRecord): boolean => status !== 'working'
    return (await waitForTask(engine, { id, read, until, signal })) ?? read()
  }

  async #read(id: string, viewer: QuestionAnswerer): Promise<QuestionRecord | undefined> {
    const { task, key } = readId(id)
    return (await this.#options.engine()).question(task, key, nameOf(viewer))
  }

  #isFor(row: OpenQuestionRecord, answerer: QuestionAnswerer): boolean {
    if ('principal' in answerer) return this.#mayAnswer(row, answerer.principal)
    return row.approvers === undefined && row.isOwner
  }

  #mayAnswer({ approvers, isOwner }: OpenQuestionRecord, principal: Principal): boolean {
    return approvers === undefined ? isOwner : this.#options.host.mayAnswer(approvers, { principal }, isOwner)
  }
}

interface QuestionParams {
  readonly message?: string
  readonly requestedSchema?: Json
  readonly _meta?: { readonly [TOOL_META]?: string; readonly [ASK_MODEL_META]?: boolean }
}

/** A question as those may see it who may answer it. */
export function toQuestion(row: OpenQuestionRecord): OpenQuestion {
  const { task, key, tool, request, approvers, askedAt, expiresAt, caller, undelivered } = row
  const { message = '', requestedSchema = {}, _meta } = (request.params ?? {}) as QuestionParams
  const { principal } = caller
  return {
    id: `${task}:${key}`,
    tool: _meta?.[TOOL_META] ?? tool,
    caller: isObject(principal) ? String(principal['subject'] ?? principal['id']) : undefined,
    message,
    requestedSchema,
    by: approvers?.by,
    fourEyes: approvers?.fourEyes ?? false,
    askModel: approvers === undefined && _meta?.[ASK_MODEL_META] === true,
    askedAt,
    expiresAt,
    undelivered,
  }
}

function nameOf(answerer: QuestionAnswerer): string {
  return 'principal' in answerer ? digestOf(answerer.principal.id) : answerer.owner
}

/** The id of a task has no colon. */
function readId(id: string): { task: string; key: string } {
  const colon = id.indexOf(':')
  return { task: id.slice(0, Math.max(colon, 0)), key: id.slice(colon + 1) }
}

function readCursor(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  const place = Number(cursor)
  if (cursor !== '' && Number.isSafeInteger(place) && place >= 0) return place
  throw new ProtocolError('PARAMS_INVALID', 'The cursor is not one of this list; begin again without a cursor.')
}
