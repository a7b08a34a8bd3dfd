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
import { noticesOf } from './output/notices.ts'
import type { CommandContext } from './runCommand.ts'
import { readVersion } from './version.ts'

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

/** The login that `pannier login` has stored for an address; undefined where there is none. */
export function storedLoginFor(url: string): Promise<Authorizer | undefined> {
  return storedLogin(url, defaultLoginsPath())
}

/** Asks for progress only where it can be drawn. */
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
