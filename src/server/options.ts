import type { Implementation } from '@modelcontextprotocol/client'
import type { Watch } from '../journal/index.ts'
import type { Keyring } from '../state/seal/index.ts'
import type { CarryStore, Ledger } from '../state/stores/index.ts'
import type { Architecture } from './catalog/capabilities.ts'
import type { Approves } from './auth/approval.ts'
import type { Authenticator } from './auth/authenticator.ts'
import { isWebAddress } from './auth/protectedResource.ts'
import type { Carry, Difference } from './catalog/carry.ts'
import type { Assume } from './legacy/assume.ts'
import type { LimitOptions } from './limits/requestLimits.ts'
import type { EventBus } from './lifecycle/eventBus.ts'
import { GUARD_OPTIONS, type GuardOptions } from './http/hostGuard.ts'
import type { Logger } from './logger.ts'
import { assertOptionNames, type OptionNames, timerMs } from '../protocol/index.ts'
import type { LoginOptions } from './questions/loginOptions.ts'
import type { NoticeChannel } from './questions/channels.ts'
import type { NamesOf } from './questions/openQuestions.ts'
import type { Tasks } from './taskPort.ts'

/** Name, version and other members that clients may show. */
export type ServerIdentity = Implementation

export interface Caching {
  /** How long a client may keep a list, in milliseconds. @default 0 */
  ttlMs?: number
  /** Whether the lists are the same for everyone. @default 'public', or 'private' when there is a `principal` hook */
  cacheScope?: 'public' | 'private'
}

/** One store for everything that waits: carried states, tasks with their questions, and claims of `once`. */
export interface WorkStore extends CarryStore {
  readonly tasks: Tasks
  readonly ledger: Ledger
}

/** The options, with the parts that their store provides. */
export function withWorkStore(options: ServerOptions): ServerOptions {
  const { store } = options
  if (store === undefined || !('tasks' in store)) return options
  return { ...options, tasks: options.tasks ?? store.tasks, ledger: options.ledger ?? store.ledger }
}

export interface QuestionOptions {
  /** The address of this endpoint as people reach it, for links to the page of a question. @default where the server listens; with `stdio`, a port of this machine */
  url?: string
  /** How long a question can be answered, in seconds; then its call fails. @default 604800, a week */
  waitSeconds?: number
  /** The names in `by` that a principal has, for your own `approves`. @default the names of the default `approves` */
  namesOf?: NamesOf
  /**
   * Lets people log in at the page of a question with `by`, with a provider of OpenID Connect. @default such questions have no page
   */
  login?: LoginOptions
  /** Notifies people of each question: `webhook`, `chat`, `mail`, or your own channel. @default none */
  notify?: readonly NoticeChannel[]
  /** Lists the tool `answer_question`, by which a model answers questions with `askModel`. @default false */
  askModel?: boolean
}

const QUESTION_OPTIONS: OptionNames<QuestionOptions> = {
  url: true,
  waitSeconds: true,
  namesOf: true,
  login: true,
  notify: true,
  askModel: true,
}

export interface ServerOptions extends GuardOptions {
  /** The name of the server, for programs. */
  name: string
  /** The version of the server. */
  version: string
  /** A name to show to people. */
  title?: string
  /** The address of a page about the server. */
  websiteUrl?: string
  /** Icons that clients may show. */
  icons?: Implementation['icons']
  /** Instructions for models on how to use this server. */
  instructions?: string

  /**
   * The key ring that seals state and session ids. @default the variable PANNIER_KEYS, else random keys of this process
   */
  keys?: string | Keyring | undefined
  /** The audience of the seals: instances with the same keys and audience open each other's. @default `name` */
  audience?: string
  /** How long a client may take between two rounds, in seconds. @default 3600 */
  ttlSeconds?: number
  /**
   * How long one call may live over all its rounds, in seconds. @default 86400, or four times ttlSeconds if that is
   * more
   */
  maxCallSeconds?: number
  /** The largest state to send to a client, in bytes; a larger one needs a store. @default 65536 */
  maxStateBytes?: number
  /**
   * The carrier of a journal that waits for an answer, for all questions or by kind. Tools, prompts and resources may
   * say otherwise. @default 'client'; the store, if there is one, for session-era clients that echo no state
   */
  carry?: Carry
  /**
   * Needed by every carry mode but 'client' and 'process'. `sqliteStore` and `postgresStore` also serve `tasks` and `ledger`, where
   * these options are left out.
   */
  store?: CarryStore | WorkStore
  /** Called when `carry: 'both'` finds that client and store differ. */
  onDifference?: (difference: Difference) => void
  /** Where `once` claims its single use. @default the memory of this process */
  ledger?: Ledger

  /**
   * Where long calls run as tasks: `sqliteTasks` of pannier/tasks, `postgresTasks` of pannier/postgres. @default no
   * tasks
   */
  tasks?: Tasks

  /**
   * Lets calls of clients that cannot ask wait in the task store: the result says where to answer the question, and the
   * tool `continue_call` returns the final result. @default such a call fails
   */
  questions?: boolean | QuestionOptions

  /** Authenticates callers: a hook, or a ready one such as `bearer()`. @default all callers are anonymous */
  principal?: Authenticator
  /**
   * Whether a principal matches `by` of a question. @default `name:value` is held against the principal's claim of that name; `role` and `group` read the claims `roles` and `groups` as well
   */
  approves?: Approves
  /** How much one caller may ask for. @default no limits */
  limits?: LimitOptions
  /** How long a session of the session era lives, in seconds. @default 86400 */
  sessionTtlSeconds?: number
  /** Whether clients of the session era are served. @default true */
  legacy?: boolean
  /** Whether they may open a GET stream. Without it they are answered with 405, for places where no instance stays. @default true */
  getStream?: boolean
  /**
   * How long subscriptions and GET streams may live, in seconds; then they end as at a drain, and clients open them again. For
   * places that end every request after some time. @default no limit
   */
  maxStreamSeconds?: number
  /** Undeclared features of session-era clients: of all of them, or by name and version. @default none */
  assume?: Assume
  /**
   * The server's declarations. Say 'stateful' if handlers keep something in this process between calls: then only the
   * session era is served, and only inside a session. @default 'stateless'
   */
  architecture?: Architecture

  /** How clients may cache the lists. */
  caching?: Caching
  /** Whether clients see tools whose `needs` they do not meet. @default true */
  listUncallable?: boolean
  /** How many entries a page of a list has. @default 1000 */
  pageSize?: number
  /** The largest result of a tool, prompt or resource, in bytes; a larger one is an error. @default 16777216 */
  maxResultBytes?: number
  /** How often one question is asked before the call fails. @default 5 */
  maxAsks?: number
  /** How many rounds one call may take before it fails. @default 256 */
  maxRounds?: number
  /** The number of calls in flight above which `checkpoint()` hands calls to other instances. @default no limit */
  maxInFlight?: number
  /** How long a handler may unwind after its round has ended, in milliseconds. @default 5000 */
  unwindMs?: number
  /** Whether the message of an error that a tool throws is sent to the model. @default true */
  exposeErrors?: boolean

  /**
   * The address of this instance's endpoint as other instances reach it, such as `http://10.0.0.7:3000/mcp`. Messages
   * of session-era clients to other instances are forwarded there. @default PANNIER_ADVERTISE, else the listening
   * address
   */
  advertise?: string
  /**
   * Addresses at which this instance looks for others when it begins to listen, such as that of the load balancer or of
   * a service in front of them. Instances also learn of each other from clients' requests. @default PANNIER_PEERS,
   * separated by commas
   */
  peers?: readonly string[]
  /** Carries events between instances. @default direct messages between instances that have met */
  bus?: EventBus
  /** The log for operators. @default lines of JSON, as pino writes them, with `listen` and `stdio`, none with `fetch` and `nodeHandler` */
  logger?: Logger
  /** Called when steps run and rounds end; `pannier/testing` uses it. @default none */
  watch?: Watch
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

export const SERVER_OPTIONS: OptionNames<ServerOptions> = {
  ...GUARD_OPTIONS,
  name: true,
  version: true,
  title: true,
  websiteUrl: true,
  icons: true,
  instructions: true,
  keys: true,
  audience: true,
  ttlSeconds: true,
  maxCallSeconds: true,
  maxStateBytes: true,
  carry: true,
  store: true,
  onDifference: true,
  ledger: true,
  tasks: true,
  questions: true,
  principal: true,
  approves: true,
  limits: true,
  sessionTtlSeconds: true,
  getStream: true,
  maxStreamSeconds: true,
  legacy: true,
  assume: true,
  architecture: true,
  caching: true,
  listUncallable: true,
  pageSize: true,
  maxResultBytes: true,
  maxAsks: true,
  maxRounds: true,
  maxInFlight: true,
  unwindMs: true,
  exposeErrors: true,
  advertise: true,
  peers: true,
  bus: true,
  logger: true,
  watch: true,
  clock: true,
}

export function identityOf({ name, version, title, websiteUrl, icons }: ServerOptions): ServerIdentity {
  if (typeof name !== 'string' || typeof version !== 'string' || name === '' || version === '')
    throw new TypeError('createServer needs a name and a version, both strings.')
  return {
    name,
    version,
    ...(title !== undefined && { title }),
    ...(websiteUrl !== undefined && { websiteUrl }),
    ...(icons !== undefined && { icons }),
  }
}

/**
 * Refuses parts of another type, for authors who write plain JavaScript. A principal of the wrong type would let everybody
 * in, and a logger would fail when there is something to log.
 */
export function assertParts({ principal, logger, tasks, questions = false }: ServerOptions): void {
  const authenticate: unknown = typeof principal === 'object' ? principal?.authenticate : principal
  if (principal !== undefined && typeof authenticate !== 'function')
    throw new TypeError(
      'The option principal is a function from a request to a principal, or what bearer({ … }) returns.',
    )
  const methods = ['debug', 'info', 'warn', 'error'] as const
  if (logger !== undefined && !methods.every((method) => typeof logger?.[method] === 'function'))
    throw new TypeError('The option logger is an object with debug, info, warn and error, such as pino() or console.')
  if (tasks !== undefined && typeof tasks?.attach !== 'function')
    throw new TypeError('The option tasks is what sqliteTasks({ path }) or postgresTasks(connection) returns.')
  if (questions !== false && tasks === undefined)
    throw new TypeError(
      'The option questions needs a task store: createServer({ questions: true, tasks: sqliteTasks({ path }) }).',
    )
}

export interface QuestionSettings extends QuestionOptions {
  waitSeconds: number
}

const WEEK_SECONDS = 604_800

/** Undefined where no call waits for people. */
export function questionsOf({
  tasks,
  questions = tasks?.asTools === true,
}: ServerOptions): QuestionSettings | undefined {
  if (questions === false) return undefined
  const options = questions === true ? {} : questions
  assertOptionNames(options, QUESTION_OPTIONS, 'The option questions')
  const { url, waitSeconds = WEEK_SECONDS, notify = [] } = options
  if (url !== undefined && !isWebAddress(url))
    throw new TypeError('questions.url is the http or https address of this endpoint as people reach it.')
  if (!(waitSeconds > 0 && waitSeconds <= MAX_WAIT_SECONDS))
    throw new TypeError(`questions.waitSeconds is a number of seconds, at most ${MAX_WAIT_SECONDS}.`)
  if (new Set(notify.map(({ name }) => name)).size < notify.length)
    throw new TypeError('Each channel of questions.notify has a name of its own.')
  return { ...options, waitSeconds }
}

/** Ten years. */
const MAX_WAIT_SECONDS = 315_360_000

export function architectureOf({ architecture = 'stateless', legacy = true }: ServerOptions): Architecture {
  if (architecture === 'stateless' || legacy) return architecture
  throw new TypeError('A stateful server serves the session era, so it cannot have legacy: false.')
}

export function cachingOf({ caching, principal }: ServerOptions): Required<Caching> {
  return { ttlMs: 0, cacheScope: principal === undefined ? 'public' : 'private', ...caching }
}

/** The longest life of a stream; undefined without a limit. */
export function streamLifeMs({ maxStreamSeconds }: ServerOptions): number | undefined {
  return maxStreamSeconds === undefined ? undefined : timerMs(maxStreamSeconds * 1000, 'maxStreamSeconds')
}
