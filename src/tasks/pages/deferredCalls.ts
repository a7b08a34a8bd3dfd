/**
 * Calls whose clients cannot be asked. The call waits in the task store. Its result has the question, the link to its
 * page, and the way back: the tool `continue_call` with the ticket, or, for callers with a name, the same call again.
 *
 * - The ticket is the id of the waiting call. It is worth nothing to another caller.
 * - A call that waits, or whose result was not fetched, does not begin a second time when it comes again.
 */
import type { CallToolResult, InputRequest } from '@modelcontextprotocol/client'
import type { Journal } from '../../journal/index.ts'
import { ASK_MODEL_META, declaresAll, isObject, type Json, neededCapability } from '../../protocol/index.ts'
import type {
  Call,
  Caller,
  AnswerWay,
  DeferredAnswer,
  DeferredCall,
  DeferredCalls,
  DeferredCallsSite,
  DeferredTool,
  DeferredTools,
  OpenQuestion,
  QuestionDesk,
} from '../../server/index.ts'
import { digestOf } from '../../state/internal.ts'

/** `_meta` of a result that waits, for programs. */
const WAITING_META = 'dev.pannier/waiting'

const ANY_FORM: InputRequest = {
  method: 'elicitation/create',
  params: { message: '', requestedSchema: { type: 'object', properties: {} } },
}

const ANY_PAGE: InputRequest = {
  method: 'elicitation/create',
  params: { mode: 'url', message: '', url: '', elicitationId: '' },
}

/** A suffix that keeps keys of pages apart from keys of questions. */
const PAGE_PREFIX = 'page '

export class StoredCalls implements DeferredCalls {
  readonly #options: DeferredCallsSite & { readonly desk: QuestionDesk }

  constructor(desk: QuestionDesk, site: DeferredCallsSite) {
    this.#options = { ...site, desk }
  }

  /** The same call of a caller with a name, if it waits or its result was not fetched: the text of the result. */
  async again(call: Call, { tool, args, hasOutput, asksOthers = false }: DeferredTool): Promise<string | undefined> {
    const same = sameOf(call, tool, args)
    if (same === undefined || (!asksOthers && isAskable(call, ANY_FORM))) return undefined
    const waiting = await this.#options.desk.waiting(call, { same })
    if (waiting === undefined) return undefined
    const result = await this.#resultOf(call, waiting, hasOutput, () => call.channel.cancelled)
    return this.#options.results.complete(result, call.peer)
  }

  /**
   * Lets a call wait. Gives the text of its result, or the pages that a client without forms is to open. Equal journals have one
   * waiting call.
   */
  async wait(
    call: Call,
    deferred: DeferredTool,
    journal: Journal,
  ): Promise<string | ReadonlyMap<string, InputRequest>> {
    const { desk, results, waitSeconds } = this.#options
    const { tool, args, hasOutput, answerSeconds = waitSeconds, responses = {}, mayAsk = false } = deferred
    const work = { tool, args, journal, same: sameOf(call, tool, args), answerMs: answerSeconds * 1000 }
    const stored = await desk.create(call, work)
    const asked = Object.keys(responses).filter((key) => key.startsWith(PAGE_PREFIX))
    const waiting = asked.length === 0 ? stored : await this.#opened(call, stored, asked, responses)
    const pages = mayAsk ? await this.#pagesFor(call, waiting) : NO_PAGES
    if (pages.size > 0 && !asked.some((key) => pages.has(key))) return pages
    return results.complete(await this.#resultOf(call, waiting, hasOutput, () => call.channel.cancelled), call.peer)
  }

  /** Pages of the caller's own questions, for a client that opens pages and shows no forms. */
  async #pagesFor(
    call: Call,
    { id, status, questions, approvers }: DeferredCall,
  ): Promise<ReadonlyMap<string, InputRequest>> {
    const { desk, links, hasLogin } = this.#options
    if (status !== 'input_required' || approvers.size > 0 || !isAskable(call, ANY_PAGE)) return NO_PAGES
    const owner = desk.ownerOf(call)
    const pages = new Map<string, InputRequest>()
    for (const [key, request] of questions) {
      const question = `${id}:${key}`
      const url = await links.of({ id: question, by: undefined }, owner, hasLogin)
      if (url === undefined) return NO_PAGES
      const page = { mode: 'url', message: messageOf(request), url } as const
      const params = call.peer.era === 'legacy' ? { ...page, elicitationId: question } : page
      pages.set(`${PAGE_PREFIX}${key}`, { method: 'elicitation/create', params: params as never })
    }
    return pages
  }

  /**
   * A person who did not open the page has declined. After any other page, the call waits for an answer as long as the
   * client waits.
   */
  async #opened(call: Call, { id }: DeferredCall, asked: readonly string[], responses: Json): Promise<DeferredCall> {
    const { desk } = this.#options
    const owner = desk.ownerOf(call)
    const keys = asked.map((key) => key.slice(PAGE_PREFIX.length))
    for (const key of keys) {
      const response = responses[`${PAGE_PREFIX}${key}`]
      const action = isObject(response) ? response['action'] : undefined
      if (action !== 'decline' && action !== 'cancel') continue
      const question = await desk.find(`${id}:${key}`, { owner })
      if (question !== undefined) await desk.answer(question, { owner }, { action }, 'client')
    }
    const left = new AbortController()
    call.channel.onCancel(() => left.abort())
    const waiting = await desk.answered(call, id, left.signal)
    if (call.peer.era === 'legacy') notifyComplete(call, waiting, keys)
    return waiting
  }

  /** The result of `continue_call`. */
  async continued(caller: Pick<Caller, 'principal'>, ticket: string, hasLeft: () => boolean): Promise<Json> {
    const { desk, mayCall } = this.#options
    const waiting = await desk.waiting(caller, { ticket })
    if (waiting === undefined || !mayCall(caller.principal, waiting.tool)) return failure(NO_CALL)
    return this.#resultOf(caller, waiting, false, hasLeft)
  }

  /**
   * Answers a question of this caller: the person at its client does, or the model, where the question says that it may.
   * Who may answer elsewhere still can.
   */
  async answered(caller: Pick<Caller, 'principal'>, given: DeferredAnswer, hasLeft: () => boolean): Promise<Json> {
    const { desk, mayCall } = this.#options
    const { principal } = caller
    const ticket = given.question.slice(0, Math.max(given.question.indexOf(':'), 0))
    const answerer = principal === undefined ? { owner: desk.ownerOf(caller) } : { principal }
    const question = await desk.find(given.question, answerer)
    if (question === undefined || !mayCall(principal, question.tool))
      return withNote(NOT_OPEN, await this.continued(caller, ticket, hasLeft))
    if (question.by !== undefined) return failure(`${FOR_PEOPLE} It waits for ${question.by.join(' or ')}.`)
    const answer = await this.#answerTo(question, given)
    if (typeof answer === 'string') return failure(answer)
    const isStored = await desk.answer(question, answerer, answer.response, answer.way)
    const result = await this.continued(caller, ticket, hasLeft)
    return isStored ? result : withNote(NOT_OPEN, result)
  }

  /** The answer of the model or of the person at the client; a sentence if there is none. */
  async #answerTo(
    question: OpenQuestion,
    { content, declines, ask }: DeferredAnswer,
  ): Promise<{ readonly response: Json; readonly way: AnswerWay } | string> {
    const isOfModel = question.askModel && (declines || content !== undefined)
    if (!isOfModel && ask === undefined) return question.askModel ? NO_CONTENT : FOR_PEOPLE
    const request = { method: 'elicitation/create', params: formOf(question) } as InputRequest
    const ofModel = declines ? { action: 'decline' } : { action: 'accept', content }
    const response = isOfModel || ask === undefined ? ofModel : await ask(request)
    const { action, content: filled } = response as { action?: unknown; content?: Json }
    const problems = action === 'accept' ? this.#options.desk.problems(question, filled ?? {}) : []
    if (problems.length > 0) return `The answer does not fit: ${problems.join(' ')}`
    return { response, way: isOfModel ? 'model' : 'client' }
  }

  /** The result of `task_cancel`. */
  async cancelled(caller: Pick<Caller, 'principal'>, ticket: string): Promise<Json> {
    const found = await this.#options.desk.cancel(caller, ticket)
    if (found === undefined) return failure(NO_CALL)
    if (found.status === 'cancelled') return { content: [{ type: 'text', text: 'The task is cancelled.' }] }
    return failure(`The task had ended before: it has ${found.status}.`)
  }

  /** `hasLeft`: whether the client will not get this result, so that it is still to be fetched. */
  async #resultOf(
    caller: Pick<Caller, 'principal'>,
    waiting: DeferredCall,
    hasOutput: boolean,
    hasLeft: () => boolean,
  ): Promise<Json> {
    const { status, result, failure: error } = waiting
    if (status === 'working') return this.#unfinished(waiting, [workOf(waiting)], hasOutput)
    const isOpen = status === 'input_required' && waiting.questions.size > 0
    if (isOpen) return this.#asking(caller, waiting, hasOutput)
    if (!hasLeft()) await this.#options.desk.taken(caller, waiting.id)
    if (status === 'completed') return result ?? {}
    if (status === 'cancelled') return failure('The call was cancelled while it waited.')
    return failure(error?.message ?? 'There was no answer in time.')
  }

  async #asking(caller: Pick<Caller, 'principal'>, waiting: DeferredCall, hasOutput: boolean): Promise<Json> {
    const { desk, links, hasLogin, tools } = this.#options
    const owner = desk.ownerOf(caller)
    const asked = Array.from(waiting.questions, async ([key, request]) => {
      const by = waiting.approvers.get(key)?.by
      const id = `${waiting.id}:${key}`
      const url = await links.of({ id, by }, owner, hasLogin)
      const schema = by === undefined && tools.answer !== undefined ? schemaForModel(request) : undefined
      return {
        id,
        message: messageOf(request),
        ...(url !== undefined && { url }),
        ...(by !== undefined && { by }),
        ...(schema !== undefined && { askModel: schema }),
      }
    })
    const questions = await Promise.all(asked)
    const sentences = [
      'This call waits for a person, and this client cannot show them the question. Pass this on:',
      ...questions.map((question) => sentenceOf(question, tools)),
    ]
    return this.#unfinished(waiting, sentences, hasOutput, questions)
  }

  #unfinished(
    { id }: DeferredCall,
    sentences: readonly string[],
    hasOutput: boolean,
    questions?: readonly Json[],
  ): Json {
    const { status, ticket } = this.#options.tools
    const next = `Afterwards call the tool ${status} with ${JSON.stringify({ [ticket]: id })} for the result.`
    const result: CallToolResult = { content: [{ type: 'text', text: [...sentences, next].join('\n\n') }] }
    // If the tool has an output schema, clients refuse a result without structured content, but accept an error.
    const error = hasOutput && { isError: true }
    return { ...result, ...error, _meta: { [WAITING_META]: { ticket: id, questions: questions ?? [] } } }
  }
}

const NO_PAGES: ReadonlyMap<string, InputRequest> = new Map()

/** Session-era revisions have a notification for the end of a page. */
function notifyComplete({ channel }: Call, { id, questions }: DeferredCall, keys: readonly string[]): void {
  const answered = keys.filter((key) => !questions.has(key))
  for (const key of answered) channel.notify('notifications/elicitation/complete', { elicitationId: `${id}:${key}` })
}

function messageOf({ params }: InputRequest): string {
  return params !== undefined && 'message' in params ? params.message : ''
}

interface ShownQuestion {
  readonly id: string
  readonly message: string
  readonly url?: string
  readonly by?: readonly string[]
  /** The schema of an answer that the model may give. */
  readonly askModel?: Json
}

function sentenceOf(question: ShownQuestion, tools: DeferredTools): string {
  const { id, by, askModel } = question
  const here = JSON.stringify({ question: id })
  const lines = [whereOf(question)]
  if (askModel !== undefined)
    lines.push(
      `You may answer it yourself: call the tool ${tools.answer} with {"question":${JSON.stringify(id)},"content":{…}}. The content fits this schema: ${JSON.stringify(askModel)}`,
    )
  if (by === undefined && tools.asksPeople)
    lines.push(`A client that shows forms asks it by ${tools.answer} with ${here}`)
  return lines.join('\n')
}

function whereOf({ message, url, by }: ShownQuestion): string {
  const where = url === undefined ? '' : `\nThe page of the question, after a login: ${url}`
  if (by !== undefined) return `It waits for ${by.join(' or ')} to answer: ${message}${where}`
  return url === undefined ? `The question: ${message}` : `The question: ${message}\nAnswer it here: ${url}`
}

function sameOf({ principal }: Pick<Caller, 'principal'>, tool: string, args: Json): string | undefined {
  return principal === undefined ? undefined : digestOf([tool, args])
}

const NO_CALL = 'No call waits under this ticket. It was of another caller, or its time is over: make the call again.'
const NOT_OPEN = 'This question is not open for this caller: it was answered, is for others, or its time is over.'
const FOR_PEOPLE = 'A person answers this question, and not the model.'
const NO_CONTENT = 'This answer has no content.'

/** What a call does that is at work. */
function workOf({ statusMessage, progress }: DeferredCall): string {
  const of = progress?.total === undefined ? '' : ` of ${progress.total}`
  const done = progress === undefined ? [] : [`${progress.progress}${of}`]
  const doing = statusMessage === undefined ? [] : [statusMessage]
  return ['This call is still at work', [...done, ...doing].join(', ')].filter((part) => part !== '').join(': ') + '.'
}

function formOf({ message, requestedSchema }: OpenQuestion): Json {
  return { message, requestedSchema }
}

/** The schema of an answer that the model may give; undefined if only people answer. */
function schemaForModel({ params }: InputRequest): Json | undefined {
  const { _meta: meta, requestedSchema } = (params ?? {}) as Json
  const isAllowed = isObject(meta) && meta[ASK_MODEL_META] === true
  return isAllowed && isObject(requestedSchema) ? requestedSchema : undefined
}

function withNote(note: string, result: Json): Json {
  const { content } = result
  return {
    ...result,
    content: [{ type: 'text', text: note }, ...(Array.isArray(content) ? (content as readonly unknown[]) : [])],
  }
}

function failure(text: string): Json {
  return { content: [{ type: 'text', text }], isError: true }
}

function isAskable({ peer }: Call, request: InputRequest): boolean {
  return declaresAll(peer.capabilities, neededCapability(request))
}
