/** The connection of one command: connects, runs the work, and closes. */
import { type Client, LOG_LEVEL_META_KEY, type LoggingLevel, type Progress } from '@modelcontextprotocol/client'
import {
  addressOf,
  type Answerers,
  type Authorizer,
  ClientError,
  connect,
  type ConnectOptions,
  expandVariables,
  type Target,
  type TasksOptions,
  type Notice,
  plainLine,
} from '../client/index.ts'
import { MAX_TIMER_MS, MODERN_VERSION, reaches } from '../protocol/index.ts'
import { defaultJarPath } from '../state/jar/index.ts'
import { defaultLoginsPath } from './login/file.ts'
import { browserLogin, storedLogin } from './login/login.ts'
import {
  type ClientFlags,
  readBearer,
  readHeaders,
  readLogLevel,
  readMaxRounds,
  readTimeout,
} from './options/client.ts'
import type { CommandContext } from './runCommand.ts'
import type { Display } from './output/display.ts'
import { serverText } from './output/layout.ts'
import manifest from '../../package.json' with { type: 'json' }

/** Stands for no time limit. */
const NO_LIMIT_MS = MAX_TIMER_MS

/** The options of each request. */
export interface CallOptions {
  readonly signal: AbortSignal
  /** Not limited here: the connection enforces --timeout. */
  readonly timeout: number
  readonly onprogress?: (progress: Progress) => void
}

/** Connects, runs `work`, and closes the connection. */
export async function withServer<Result>(
  target: Target,
  flags: ClientFlags,
  context: CommandContext,
  work: (client: Client, options: CallOptions) => Promise<Result>,
  answerers: Answerers = {},
  tasks: TasksOptions = {},
): Promise<Result> {
  const level = readLogLevel(flags.logLevel)
  const notices = noticesOf(context.display, flags.verbose ?? false)
  const login = flags.oauth ? await loginFor(target, context) : undefined
  try {
    const open = flags.jar === undefined ? connectDespiteJar(context) : connectAsProgram
    const client = await open(target, {
      ...connectOptions(flags),
      ...(login && { authorizer: login.authorizer }),
      answerers,
      tasks: { patienceMs: NO_LIMIT_MS, onStatus: context.display.status, ...tasks },
      signal: context.signal,
      onNotice: notices.onNotice,
    }).catch((error: unknown) => {
      notices.showLast()
      throw error
    })
    try {
      await showServerLog(client, level, context)
      return await work(client, callOptions(context))
    } finally {
      await client.close()
    }
  } finally {
    login?.close()
  }
}

function connectAsProgram(target: Target, options: ConnectOptions): Promise<Client> {
  return connect(target, { name: 'pannier', version: readVersion(), ...options })
}

/** The default jar was not asked for: where it cannot be used, the command runs without one. */
function connectDespiteJar({ display }: CommandContext): typeof connectAsProgram {
  return async (target, options) => {
    try {
      return await connectAsProgram(target, options)
    } catch (error) {
      if (!(error instanceof ClientError && error.code === 'JAR_UNAVAILABLE')) throw error
      display.note(`${error.message} State that servers ask to keep is neither sent nor kept.`)
      return connectAsProgram(target, { ...options, jar: false })
    }
  }
}

function connectOptions(flags: ClientFlags): ConnectOptions {
  const { header = [], bearerEnv, timeout, jar = defaultJarPath(), principal, context, allowLocal, era } = flags
  const variables = { env: process.env, places: {} }
  const timeoutMs = readTimeout(timeout)
  const maxRounds = readMaxRounds(flags.maxRounds)
  return {
    headers: readHeaders(header, (value) => expandVariables(value, variables, '--header')),
    ...(bearerEnv !== undefined && { bearer: readBearer(bearerEnv, process.env) }),
    // Without --timeout the user decides how long to wait, with Ctrl-C.
    ...(timeoutMs === undefined ? { timeoutMs: NO_LIMIT_MS } : { timeoutMs, connectTimeoutMs: timeoutMs }),
    ...(maxRounds !== undefined && { maxRounds }),
    jar,
    ...(principal !== undefined && { principal }),
    ...(context !== undefined && { context }),
    ...(allowLocal && { allowLocal }),
    ...(era !== undefined && { era }),
  }
}

async function loginFor(target: Target, { display, signal }: CommandContext) {
  const address = await addressOf(target)
  if (!('url' in address)) throw new ClientError('TARGET_INVALID', '--oauth is for servers over HTTP.')
  return browserLogin(address.url, defaultLoginsPath(), { note: display.note, signal })
}

/** The login that `pannier login` has stored for an address, if any. */
export function storedLoginFor(url: string): Promise<Authorizer | undefined> {
  return storedLogin(url, defaultLoginsPath())
}

/** Asks for progress only if it can be drawn. */
function callOptions({ display, signal }: CommandContext): CallOptions {
  const options = { signal, timeout: NO_LIMIT_MS }
  return process.stderr.isTTY ? { ...options, onprogress: display.progress } : options
}

/** Shows the server's log from a level on. In the session era the level is set for the connection, else in each request. */
async function showServerLog(
  client: Client,
  level: LoggingLevel | undefined,
  { display, signal }: CommandContext,
): Promise<void> {
  if (level === undefined) return
  client.setNotificationHandler('notifications/message', ({ params }) => {
    if (reaches(params.level, level)) display.log(params)
  })
  const isLegacy = client.getNegotiatedProtocolVersion() !== MODERN_VERSION
  if (isLegacy && client.getServerCapabilities()?.logging) await client.setLoggingLevel(level, { signal })
}

/** The log level in `_meta`, for requests of the stateless revision. */
export function logMeta({ logLevel }: ClientFlags): { _meta?: Record<string, string> } {
  return logLevel === undefined ? {} : { _meta: { [LOG_LEVEL_META_KEY]: logLevel } }
}

const LAST_LINES = 20
const HELD_OPEN =
  'note: A server of the session era holds its call open while it asks, so this one cannot be suspended.'

/** Notices of the connection: shown at once with --verbose, else only if they explain a failure. */
export function noticesOf(display: Display, verbose: boolean) {
  const lines: string[] = []
  const shown = new Set<string>()
  const noteOnce = (line: string): void => {
    if (!shown.has(line)) display.note(line)
    shown.add(line)
  }
  return {
    onNotice(notice: Notice): void {
      if (notice.kind === 'error' && notice.error.name === 'Suspend') noteOnce(HELD_OPEN)
      else if (notice.kind === 'error' && isAboutAnswers(notice.error)) return noteOnce(noticeText(notice))
      if (verbose) display.note(noticeText(notice))
      else if (notice.kind === 'stderr') lines.splice(0, lines.length, ...[...lines, notice.line].slice(-LAST_LINES))
    },
    /** Shows the last lines of the server's stderr, after the connection has failed. */
    showLast(): void {
      // A server that fails to start is started twice and writes the same lines again, so each is shown once.
      const last = [...new Set(lines.toReversed())].reverse()
      for (const line of last) display.note(noticeText({ kind: 'stderr', line }))
    },
  }
}

/** A server of the session era learns only that there is no answer; the reason is shown to the user who gave the answers. */
function isAboutAnswers(error: Error): boolean {
  return error instanceof ClientError && ANSWER_CODES.has(error.code)
}

const ANSWER_CODES: ReadonlySet<string> = new Set(['QUESTION_UNANSWERED', 'RESPONSE_INVALID'])

function noticeText(notice: Notice): string {
  switch (notice.kind) {
    case 'stderr':
      return `server: ${serverText(notice.line)}`
    case 'error':
      return `note: ${serverText(notice.error.message)}`
    case 'refused':
      return `note: refused "${plainLine(notice.refused.method)}" of the server. ${plainLine(notice.refused.reason)}`
    case 'jar':
      return `note: state ${plainLine(notice.news.name)} ${notice.news.kind}: ${plainLine(notice.news.reason)}`
    case 'unkept':
      return `note: ${plainLine(notice.reason)}`
    default:
      return notice satisfies never
  }
}

/** The package's version. It is part of the built program, wherever that stands. */
export function readVersion(): string {
  return manifest.version
}
