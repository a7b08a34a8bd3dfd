/**
 * The contract between a server and the service that runs its calls as tasks. `pannier/tasks` implements it on SQLite,
 * `pannier/postgres` on PostgreSQL.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { AnsweredBy, Approvers, Journal } from '../journal/index.ts'
import type { Era, HeaderReader, Json, TaskStatus } from '../protocol/index.ts'
import type { RoundSealer } from '../state/seal/index.ts'
import type { Principal } from './auth/authenticator.ts'
import type { Call, Caller, Peer } from './call.ts'
import type { Logger } from './logger.ts'
import type { LoginOptions } from './questions/loginOptions.ts'
import type { NoticeChannel } from './questions/channels.ts'
import type { WireError } from './wireErrors.ts'

/** Given to `createServer({ tasks })`. */
export interface Tasks {
  /** Whether tools follow, answer and cancel tasks, for clients that know no tasks. @default false */
  readonly asTools?: boolean
  /** Called once, with the server whose calls become tasks. */
  attach(host: TaskHost): TaskService
  /** The server's own code for tasks, `taskWing`. It has no type here, because that code imports this file. */
  readonly wing: object
}

/** The server, as its tasks see it. */
export interface TaskHost {
  /** Servers of one audience share their tasks. */
  readonly audience: string
  readonly logger: () => Logger
  /** Whether callers are authenticated. Only then may they list their tasks. */
  readonly knowsCallers: boolean
  /** The text of a result, with the fields that every result of the peer's era has. */
  write(result: Json, peer: Peer): string
  /** Throws when this caller may not call the tool. */
  assertMayCall(call: Call, tool: string): void
  /** Whether a principal is an approver of a question. `isCaller`: whether that principal created the task. */
  mayAnswer(approvers: Approvers, answerer: Pick<Caller, 'principal'>, isCaller: boolean): boolean
  /** How people are notified of questions; undefined if they are not. */
  notices(): NoticeSite | undefined
  /** The caller for whose quota a task of this call counts; undefined if callers cannot be distinguished. */
  holderOf(call: Call): string | undefined
  /** Runs a tool over its journal until it ends, asks, or hands over. Never rejects. */
  run(work: TaskWork): Promise<RunOutcome>
}

/** Makes tasks of calls, and answers the clients' requests about them. */
export interface TaskService {
  /** The capabilities that the server declares, by era. */
  capabilities(era: Era): Json
  /** Why tasks are not run now, in a sentence; undefined while their store works. */
  trouble?(): string | undefined
  /** Makes a task of a call. Resolves when the task is stored, with the text of the result that names it. */
  create(call: Call, work: NewWork): Promise<string>
  /** Open questions, which people answer outside of the client. Absent if the tasks belong to another server. */
  readonly questions?: QuestionDesk
  /** The code of the call's method, if the client's dialect has that method. */
  method(call: Call): ((call: Call) => Promise<string>) | undefined
  /** Subscribes to the tasks among these that the caller may see. */
  listen(call: Call, taskIds: readonly string[], send: (task: Json) => void): Promise<TaskListening>
  /** Opens the store and starts the workers. Rejects when the store cannot be used. */
  start(tools: readonly string[]): Promise<void>
  /** Registers a tool that was added after the start. */
  serve(tool: string): void
  /** Claims no more tasks, lets runs end or hand over until the deadline, and returns the rest to the queue. */
  drain(deadlineMs: number): Promise<void>
  /** Closes the store. */
  close(): Promise<void>
}

/** Calls of clients that cannot ask, which wait for people, and the questions that people may answer. */
export interface QuestionDesk {
  /** Makes a waiting call of a call. Resolves as `waiting` does. */
  create(call: Call, work: NewDeferred): Promise<DeferredCall>
  /** A waiting call of this caller, once it waits for an answer or has ended; after some seconds also while it works. */
  waiting(caller: Pick<Caller, 'principal'>, which: WhichDeferred): Promise<DeferredCall | undefined>
  /** The waiting call, once its questions are answered; after some seconds, or when the signal is aborted, as it is. */
  answered(caller: Pick<Caller, 'principal'>, id: string, signal: AbortSignal): Promise<DeferredCall>
  /** The result of a waiting call was sent, so the same call begins again from now on. */
  taken(caller: Pick<Caller, 'principal'>, id: string): Promise<void>
  /** Open questions that this principal may answer, oldest first. */
  list(query: OpenQuestionsQuery): Promise<OpenQuestionPage>
  /** One open question. Undefined if this answerer may not answer it. */
  find(id: string, answerer: QuestionAnswerer): Promise<OpenQuestion | undefined>
  /** A question of a stored call, and its outcome. Undefined unless the viewer is the caller or may answer. */
  known(id: string, viewer: QuestionAnswerer): Promise<KnownQuestion | undefined>
  /** Cancels a call or task of this caller. Undefined if there is none, or if it is no longer stored. */
  cancel(caller: Pick<Caller, 'principal'>, id: string): Promise<DeferredCall | undefined>
  /** Stores an answer. False if the question is no longer open. */
  answer(question: OpenQuestion, answerer: QuestionAnswerer, response: Json, way: AnswerWay): Promise<boolean>
  /** The problems of an answer's content, in sentences that quote no value. */
  problems(question: OpenQuestion, content: Json): readonly string[]
  deferred(site: DeferredCallsSite): DeferredCalls
  /** Serves the pages of the questions. */
  pages(site: QuestionSite): (request: PageRequest) => Promise<PageReply>
  /** Serves the lists of the questions for programs. */
  programs(site: ProgramSite): {
    has(path: string): boolean
    serve(request: ProgramRequest, principal: Principal | undefined): Promise<PageReply>
  }
  /** Who may answer a stored question; undefined if that is its caller, or if the question is not stored. */
  approversOf(id: string): Promise<Approvers | undefined>
  /** Names the caller in links to its own questions. */
  ownerOf(caller: Pick<Caller, 'principal'>): string
}

/** A request for the page of a question, whose body has not been read. */
export interface PageRequest {
  readonly method: string
  readonly path: string
  /** The query of the address, without its question mark; may be empty. */
  readonly query: string
  readonly header: HeaderReader
  /** The size of the body, by Content-Length; NaN if unknown. */
  readonly declaredBytes: number
  whole(): Promise<Uint8Array>
}

export interface PageReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The media type of the body. */
  readonly type: string
  readonly body: string
}

/** The server's functions for calls that wait for people. */
export interface DeferredCallsSite {
  readonly links: {
    of(question: Pick<OpenQuestion, 'id' | 'by'>, owner: string, hasLogin: boolean): Promise<string | undefined>
  }
  readonly results: { complete(result: Json, peer: Peer): string }
  readonly tools: DeferredTools
  readonly waitSeconds: number
  /** Whether people log in at the pages, so that questions for others have one, too. */
  readonly hasLogin: boolean
  /** Whether a caller may still call a tool. */
  readonly mayCall: (principal: Principal | undefined, tool: string) => boolean
}

/** The tools by which a client comes back to such a call. */
export interface DeferredTools {
  /** Gives the result, or what the call waits for. */
  readonly status: string
  /** The argument of that tool that names the call. */
  readonly ticket: string
  /** Answers a question; undefined where only people do, elsewhere. */
  readonly answer: string | undefined
  /** Whether the tool for answers also asks the person, where its client shows forms. */
  readonly asksPeople: boolean
}

/** A tool that was called, with its arguments. */
export interface DeferredTool {
  readonly tool: string
  readonly args: Json
  /** Whether its results must have structured content, which a result that waits has not. */
  readonly hasOutput: boolean
  /** How long each of its questions can be answered. @default the `waitSeconds` of the server */
  readonly answerSeconds?: number | undefined
  /** Whether also the calls of clients that show forms wait, because others are asked. @default false */
  readonly asksOthers?: boolean
  /** The outcomes of the pages that the client was to open. */
  readonly responses?: Json | undefined
  /** Whether the client can be asked to open pages. @default false */
  readonly mayAsk?: boolean
}

/** Calls whose clients cannot be asked. */
export interface DeferredCalls {
  /** The same call of a caller with a name, if it waits or its result was not fetched: the text of the result. */
  again(call: Call, tool: DeferredTool): Promise<string | undefined>
  /** Lets a call wait. Gives the text of its result, or the pages that its client is to open. */
  wait(call: Call, tool: DeferredTool, journal: Journal): Promise<string | ReadonlyMap<string, InputRequest>>
  /** The result of `continue_call`. `hasLeft`: whether the client will not get it. */
  continued(caller: Pick<Caller, 'principal'>, ticket: string, hasLeft: () => boolean): Promise<Json>
  /** Answers a question of this caller, and gives what `continued` gives. */
  answered(caller: Pick<Caller, 'principal'>, given: DeferredAnswer, hasLeft: () => boolean): Promise<Json>
  /** Cancels a call or task of this caller. */
  cancelled(caller: Pick<Caller, 'principal'>, ticket: string): Promise<Json>
}

/** An answer that came by a tool. */
export interface DeferredAnswer {
  /** The id of the question. */
  readonly question: string
  /** The content of the model's answer; undefined if the model does not answer. */
  readonly content: Json | undefined
  readonly declines: boolean
  /** Asks the person at the client; undefined if that client shows no forms. */
  readonly ask: ((request: InputRequest) => Promise<Json>) | undefined
}

/** A request of a program, whose body is JSON. */
export interface ProgramRequest extends PageRequest {
  json(): Promise<unknown>
}

export interface OpenQuestionFilter {
  /** Who looks: only questions that this principal may answer are listed. */
  for: Principal
  /** Only questions of this tool. @default all */
  tool?: string
  /** Only questions that are at least this old, in milliseconds. @default all */
  olderThanMs?: number
  /** The `nextCursor` of the page before. @default the first page */
  cursor?: string
  /** How many questions a page has, at most 1000. @default 100 */
  limit?: number
}

/** The content of an accepted form, or another action of a person. */
export type QuestionAnswer = Readonly<Record<string, unknown>> | 'decline' | 'cancel'

/** The questions, for who is known by name. */
export interface ProgramQuestions {
  open(filter: OpenQuestionFilter): Promise<OpenQuestionPage>
  find(id: string, principal: Principal): Promise<KnownQuestion | undefined>
  answer(id: string, answer: QuestionAnswer, principal: Principal): Promise<void>
}

/** The interface for programs. */
export interface ProgramSite {
  readonly questions: () => ProgramQuestions
  /** The name of the server. */
  readonly server: string
  /** The page of a question, if it has one for this principal. */
  readonly linkOf: (question: OpenQuestion, principal: Principal) => Promise<string | undefined>
}

/** The address of the pages. */
export interface QuestionSite {
  readonly links: {
    /** Undefined for an address that is no link of this server, or an expired one. */
    open(path: string): Promise<LinkedQuestion | undefined>
    /** The address of a page, by its path as this process sees it. */
    addressOf(path: string): string
    /** The origin of the pages, if known. */
    readonly origin: string | undefined
  }
  /** The name of the server, as people read it. */
  readonly server: string
  /** Absent if people cannot log in, so that only callers have links to their own questions. */
  readonly login: SiteLogin | undefined
}

/** How people log in at the pages. */
export interface SiteLogin {
  readonly options: LoginOptions
  /** Seals cookies. */
  readonly sealer: RoundSealer
  /** The redirect address for the provider, once the address of the pages is known. */
  readonly returnUrl: () => string | undefined
  readonly isReturn: (path: string) => boolean
  /** Tells its cookies from those of other pages of the host. @default none */
  readonly cookies?: string
}

/** The members of a notice beside its question. */
export interface NoticeSite {
  readonly channels: readonly NoticeChannel[]
  /** The name of the server, as people read it. */
  readonly server: string
  /** The address of a question's page; undefined if it has none. */
  linkTo(linked: LinkedQuestion): Promise<string | undefined>
  /** Counts an attempt to send. */
  counted(channel: string, outcome: NoticeOutcome): void
}

/** What became of an attempt to send a notice. */
export type NoticeOutcome = 'sent' | 'failed' | 'given_up'

/** The question that a link opens, with its owner. */
export interface LinkedQuestion {
  readonly question: string
  /** The caller, as the store names it, who needs the link alone. Absent if a login identifies the visitor. */
  readonly owner?: string | undefined
}

/** A call whose client cannot be asked. It waits in the store, and its client comes back for the result. */
export interface DeferredCall {
  /** The ticket: who has it may continue the call, if it is the caller. */
  readonly id: string
  readonly tool: string
  readonly status: TaskStatus
  readonly statusMessage: string | undefined
  readonly progress: { readonly progress: number; readonly total?: number | undefined } | undefined
  readonly questions: ReadonlyMap<string, InputRequest>
  readonly approvers: ReadonlyMap<string, Approvers>
  readonly result: Json | undefined
  readonly failure: Omit<WireError, 'status'> | undefined
}

export type WhichDeferred = { readonly ticket: string } | { readonly same: string }

export interface NewDeferred extends NewWork {
  /** The key of equal calls of this caller; undefined for callers without a name. */
  readonly same: string | undefined
  /** How long each of its questions can be answered. */
  readonly answerMs: number
}

/** A question that a person can answer outside of the client. */
export interface OpenQuestion {
  /** Names the question among all of the server. */
  readonly id: string
  readonly tool: string
  /** The subject of the caller, who may have no name. */
  readonly caller: string | undefined
  readonly message: string
  readonly requestedSchema: Json
  /** The names of which one may answer; undefined if the caller is asked. */
  readonly by: readonly string[] | undefined
  readonly fourEyes: boolean
  /** Whether the model of the caller's client may answer. */
  readonly askModel: boolean
  /** Milliseconds since 1970. */
  readonly askedAt: number
  /** Milliseconds since 1970; null without a limit. */
  readonly expiresAt: number | null
  /** The channels that failed to deliver its notice. */
  readonly undelivered: readonly string[]
}

/** The way of an answer: in the client of the call, on a page, in the console, by a program, or by the model. */
export type AnswerWay = 'client' | 'page' | 'console' | 'program' | 'model'

/** The outcome of a question. */
export interface QuestionOutcome {
  /** `expired`: not answered in time. `withdrawn`: its call was cancelled or failed. */
  readonly state: 'open' | 'answered' | 'declined' | 'cancelled' | 'expired' | 'withdrawn'
  /** When, in milliseconds since 1970; undefined while it is open. */
  readonly at?: number | undefined
  /** Who answered; undefined for a caller without a name. */
  readonly by?: AnsweredBy | undefined
  readonly way?: AnswerWay | undefined
}

/** A question that is stored, open or not. */
export interface KnownQuestion extends OpenQuestion {
  readonly outcome: QuestionOutcome
  /** The outcome in words. */
  readonly sentence: string
}

export interface OpenQuestionsQuery {
  readonly answerer: QuestionAnswerer
  /** The names in `by` that the answerer has. */
  readonly names: readonly string[]
  readonly tool?: string | undefined
  /** Only questions that were asked before this time, in milliseconds since 1970. */
  readonly askedBefore?: number | undefined
  readonly cursor?: string | undefined
  readonly limit: number
}

export interface OpenQuestionPage {
  readonly questions: readonly OpenQuestion[]
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined
}

/** The giver of an answer: a principal, or the holder of a link to a question of this owner. */
export type QuestionAnswerer = { readonly principal: Principal } | { readonly owner: string }

/** A client that hears of tasks. */
export interface TaskListening {
  readonly taskIds: readonly string[]
  /** Sends the present status of each task, and from now on each change. */
  readonly begin: () => void
  readonly stop: () => void
}

/** The call that becomes a task. */
export interface NewWork {
  readonly tool: string
  readonly args: Json
  readonly journal: Journal
}

/** The facts about its caller that a run needs. Plain JSON, stored with the task. */
export interface TaskCaller {
  readonly peer: Omit<Peer, 'logLevel' | 'session' | 'takesInputRequired'>
  readonly principal: Principal | undefined
  readonly meta: Json
  /** Whether the client cannot be asked: only forms wait for an answer. */
  readonly waits?: boolean
}

/** One run of a task. */
export interface TaskWork extends NewWork {
  readonly id: string
  readonly caller: TaskCaller
  readonly signal: AbortSignal
  /** Whether the run is over: its signal is aborted, or its process was frozen when that was due. */
  readonly isOver: () => boolean
  /** Stores the result of a step before the handler continues. */
  readonly commit: (key: string, result: { readonly value?: unknown }) => Promise<void>
  /** Claims a single use (`once`) of this task. */
  readonly claim: (id: string) => Promise<'fresh' | 'running'>
  readonly unclaim: (id: string) => Promise<void>
  readonly progress: (progress: number, total: number | undefined, message: string | undefined) => void
  /** Whether the process is draining, so that checkpoints hand over. */
  readonly draining: () => boolean
}

/** How a run of a task stopped. Its answers and steps are in its journal. */
export type RunOutcome =
  | { readonly kind: 'completed'; readonly result: Json }
  | { readonly kind: 'failed'; readonly error: WireError }
  | { readonly kind: 'asked'; readonly requests: ReadonlyMap<string, InputRequest> }
  | { readonly kind: 'handed-over' }
