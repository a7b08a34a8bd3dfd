/** One command's time with a server: connect, work, leave. */
import { dirname, join } from 'node:path'
import { type Client, LOG_LEVEL_META_KEY, type LoggingLevel, type Progress } from '@modelcontextprotocol/client'
import {
  addressOf,
  type Answerers,
  ClientError,
  connect,
  type ConnectOptions,
  expandVariables,
  type Target,
  type TasksOptions,
} from '../client/index.ts'
import { MODERN_VERSION, reaches } from '../protocol/index.ts'
import { defaultJarPath } from '../state/jar/index.ts'
import { browserLogin } from './login/login.ts'
import { type ClientFlags, readBearer, readHeaders, readLogLevel, readTimeout } from './options/client.ts'
import { noticesOf } from './output/notices.ts'
import type { Desk } from './run.ts'
import { readVersion } from './version.ts'

/** The longest time a timer takes: 24 days. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** What a request is sent with. */
export interface CallOptions {
  readonly signal: AbortSignal
  /** None but --timeout, which the connection watches. */
  readonly timeout: number
  readonly onprogress?: (progress: Progress) => void
}

/** Connects, works and leaves. */
export async function withServer<Result>(
  target: Target,
  flags: ClientFlags,
  desk: Desk,
  work: (client: Client, options: CallOptions) => Promise<Result>,
  answerers: Answerers = {},
  tasks: TasksOptions = {},
): Promise<Result> {
  const level = readLogLevel(flags.logLevel)
  const notices = noticesOf(desk.display, flags.verbose ?? false)
  const login = flags.oauth ? await loginFor(target, desk) : undefined
  try {
    const open = flags.jar === undefined ? connectedAnyway(desk) : connected
    const client = await open(target, {
      ...connectOptions(flags),
      ...(login && { authorizer: login.authorizer }),
      answerers,
      tasks: { patienceMs: NO_LIMIT_MS, onStatus: desk.display.status, ...tasks },
      signal: desk.signal,
      onNotice: notices.hear,
    }).catch((error: unknown) => {
      notices.tellLast()
      throw error
    })
    try {
      await listenToLog(client, level, desk)
      return await work(client, callOptions(desk))
    } finally {
      await client.close()
    }
  } finally {
    login?.close()
  }
}

function connected(target: Target, options: ConnectOptions): Promise<Client> {
  return connect(target, { name: 'pannier', version: readVersion(), ...options })
}

/** Nobody asked for the user's own jar, so one that cannot be used is no reason to fail. */
function connectedAnyway({ display }: Desk): typeof connected {
  return async (target, options) => {
    try {
      return await connected(target, options)
    } catch (error) {
      if (!(error instanceof ClientError && error.code === 'JAR_UNAVAILABLE')) throw error
      display.note(`${error.message} State that servers ask to keep is neither sent nor kept.`)
      return connected(target, { ...options, jar: false })
    }
  }
}

function connectOptions(flags: ClientFlags): ConnectOptions {
  const { header = [], bearerEnv, timeout, jar = defaultJarPath(), principal, context, allowLocal } = flags
  const variables = { env: process.env, places: {} }
  const timeoutMs = readTimeout(timeout)
  return {
    headers: readHeaders(header, (value) => expandVariables(value, variables, '--header')),
    ...(bearerEnv !== undefined && { bearer: readBearer(bearerEnv, process.env) }),
    // Who sits in front of it knows best how long to wait; there is Ctrl-C.
    ...(timeoutMs === undefined ? { timeoutMs: NO_LIMIT_MS } : { timeoutMs, connectTimeoutMs: timeoutMs }),
    jar,
    ...(principal !== undefined && { principal }),
    ...(context !== undefined && { context }),
    ...(allowLocal && { allowLocal }),
  }
}

async function loginFor(target: Target, { display, signal }: Desk) {
  const address = await addressOf(target)
  if (!('url' in address)) throw new ClientError('TARGET_INVALID', '--oauth is for servers over HTTP.')
  const path = join(dirname(defaultJarPath()), 'logins.json')
  return browserLogin(address.url, path, { note: display.note, signal })
}

/** Progress is asked for only where it can be drawn. */
function callOptions({ display, signal }: Desk): CallOptions {
  const options = { signal, timeout: NO_LIMIT_MS }
  return process.stderr.isTTY ? { ...options, onprogress: display.progress } : options
}

/** What the server logs, from a level on. The older era has one level for a connection, the newer one for a request. */
async function listenToLog(client: Client, level: LoggingLevel | undefined, { display, signal }: Desk): Promise<void> {
  if (level === undefined) return
  client.setNotificationHandler('notifications/message', ({ params }) => {
    if (reaches(params.level, level)) display.log(params)
  })
  const isLegacy = client.getNegotiatedProtocolVersion() !== MODERN_VERSION
  if (isLegacy && client.getServerCapabilities()?.logging) await client.setLoggingLevel(level, { signal })
}

/** What a request of the newer era says about the log. */
export function logMeta({ logLevel }: ClientFlags): { _meta?: Record<string, string> } {
  return logLevel === undefined ? {} : { _meta: { [LOG_LEVEL_META_KEY]: logLevel } }
}
