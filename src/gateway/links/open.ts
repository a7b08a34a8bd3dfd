/** Opens a link to a server at any address, in the era that it speaks. */
import type { FetchLike } from '@modelcontextprotocol/client'
import {
  type Address,
  type Authorizer,
  type CommandAddress,
  failureReason,
  type HttpAddress,
  lineReader,
} from '../../client/index.ts'
import { StdioTransport, mayBeMessage, sseTransport } from '../../client/internal.ts'
import { isObject, parseJson } from '../../protocol/index.ts'
import { BackendError, BehindItself, FailedAtStart } from '../errors.ts'
import type { Credentials } from './relayed.ts'
import type { Link, LinkOptions, UpstreamSession } from './link.ts'
import { lostSessionFetch } from './lostSession.ts'
import { SessionTransport } from './http/sessionTransport.ts'
import { openModernHttp } from './modernHttp.ts'
import { type OpenedTransport, openSession, resumeSession } from './session.ts'
import { Upstream } from '../upstreams/upstreams.ts'
import { saysBehindItself, type Via, VIA_HEADER } from '../loops.ts'

export function openLink(address: Address, options: LinkOptions): Promise<Link> {
  return 'url' in address ? openHttp(address, options) : openProcess(address, options)
}

async function openHttp(address: HttpAddress, options: LinkOptions): Promise<Link> {
  const authorizer = options.credentials === undefined ? await options.authorizer() : undefined
  if (address.transport === 'sse') return openSession(overSse(address, options, authorizer), options, false)
  if (options.session !== undefined)
    return resumeSession(overHttp(address, options, authorizer), options, options.session)
  const modern = await openModernHttp(address, options, authorizer)
  if (modern !== undefined) return modern
  try {
    return await tryToOpen(overHttp(address, options, authorizer), options, false)
  } catch (error) {
    // A server of 2024-11-05 has no POST endpoint at this address.
    const { status = 0, isUnauthorized } = failureReason((error as Error).cause)
    if (status < 400 || isUnauthorized || status === 429) throw error
    return openSession(overSse(address, options, authorizer), options, false).catch(() => {
      throw error
    })
  }
}

/** Opens a session. Only the end of an open link is reported: after a failed attempt another transport is tried. */
async function tryToOpen(opened: OpenedTransport, options: LinkOptions, asks: boolean): Promise<Link> {
  let isOpen = false
  const onClosed = (why: string): void => (isOpen ? options.onClosed(why) : undefined)
  const link = await openSession(opened, { ...options, onClosed }, asks)
  isOpen = true
  return link
}

/** A longer line on standard error is dropped. */
const MAX_LOG_LINE_BYTES = 16 * 1024

interface StartedProcess extends OpenedTransport {
  readonly transport: StdioTransport
  /** The lines it wrote to standard output before its first message, and to standard error. */
  readonly printed: () => readonly string[]
}

async function openProcess(address: CommandAddress, options: LinkOptions): Promise<Link> {
  const started = startProcess(address, options)
  try {
    return await tryToOpen(started, reportingEnd(options, started), true)
  } catch (error) {
    const isGone = error instanceof BackendError && error.reason === 'BACKEND_LOST'
    // Some session-era programs exit on a request before `initialize`.
    if (!isGone || options.signal.aborted) throw startFailure(error, address, options.server, started)
    const again = startProcess(address, options)
    return tryToOpen(again, reportingEnd(options, again), false).catch((second: unknown) => {
      const { ended } = again.transport
      throw ended === undefined
        ? startFailure(second, address, options.server, again)
        : endedAtStart(address, options.server, ended, again.printed())
    })
  }
}

/** Reports an open link whose process has ended by itself. */
function reportingEnd(options: LinkOptions, { transport, printed }: StartedProcess): LinkOptions {
  const onClosed = (why: string): void => {
    if (transport.ended !== undefined) options.onEnded(transport.ended, printed())
    options.onClosed(why)
  }
  return { ...options, onClosed }
}

function startProcess(address: CommandAddress, options: LinkOptions): StartedProcess {
  const { via, masked = [], onLog, maxMessageBytes } = options
  const mask = maskOf([...Object.values(address.env ?? {}), ...masked])
  const output = new PrintedLines()
  const log = new PrintedLines()
  let hasSpoken = false
  const incoming = (line: string): string => {
    hasSpoken ||= isMessage(line, maxMessageBytes)
    if (!hasSpoken) output.add(mask(line))
    return line
  }
  const env = { ...address.env, ...via.env }
  const transport = new StdioTransport({ ...address, env }, { incoming, outgoing: (line) => line }, maxMessageBytes)
  const onLine = (line: string): void => {
    const text = mask(line)
    log.add(text)
    onLog(text)
  }
  transport.stderr.on('data', lineReader(onLine, MAX_LOG_LINE_BYTES))
  return { transport, printed: () => [...output.lines, ...log.lines], endSession: () => Promise.resolve() }
}

function isMessage(line: string, maxBytes: number | undefined): boolean {
  const value = mayBeMessage(line) ? parseJson(line, maxBytes) : undefined
  return isObject(value) && value['jsonrpc'] === '2.0'
}

function startFailure(error: unknown, address: CommandAddress, server: string, { printed }: StartedProcess): Error {
  if (!(error instanceof BackendError)) {
    const { why = 'its process ended.' } = failureReason(error)
    return new BackendError('BACKEND_DOWN', server, `cannot be started: ${why}`, { cause: error })
  }
  if (error.reason !== 'BACKEND_TIMEOUT') return error
  const lines = printed()
  const why = [error.why, ...(lines.length === 0 ? [] : [IN_LOG]), ...withheldVariables(address)].join(' ')
  return new FailedAtStart(error.reason, server, why, lines)
}

const IN_LOG = 'What it printed is in the log.'

function endedAtStart(
  address: CommandAddress,
  server: string,
  ended: string,
  printed: readonly string[],
): BackendError {
  if (saysBehindItself(printed)) return new BehindItself(server)
  const where = printed.length === 0 ? 'It printed nothing.' : IN_LOG
  const why = ['cannot be started:', ended, where, ...withheldVariables(address)].join(' ')
  return new FailedAtStart('BACKEND_DOWN', server, why, printed)
}

/** Without these a program may wait for the network in vain, as `npx` does for its registry. */
const NETWORK_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy', 'NODE_EXTRA_CA_CERTS']

/** A sentence on variables of the network that the gateway has, and the process of an entry does not get. */
function withheldVariables({ env = {} }: CommandAddress): readonly string[] {
  const names = NETWORK_VARIABLES.filter((name) => (process.env[name] ?? '') !== '' && env[name] === undefined)
  if (names.length === 0) return []
  return [
    `It does not get ${names.join(', ')} from the gateway; if it needs the network, add that to "env" in its entry.`,
  ]
}

/** Ends a session that has no link. */
export async function endSession(address: HttpAddress, options: LinkOptions, session: UpstreamSession): Promise<void> {
  const { transport, endSession: end } = overHttp(address, { ...options, session }, await options.authorizer())
  await transport.start()
  try {
    await end()
  } finally {
    await transport.close()
  }
}

/** Maximum wait for a busy server. */
const BUSY_MS = 5000

function overHttp(address: HttpAddress, options: LinkOptions, authorizer?: Authorizer): OpenedTransport {
  const { credentials, session, upstreams } = options
  const upstream = upstreams?.first ?? new Upstream(address.url, options.via, options.maxMessageBytes)
  const transport = new SessionTransport({ address, upstream, authorizer, headers: credentials?.headers, session })
  return {
    transport,
    endSession: () => transport.endSession(),
    setHeaders: (headers) => transport.setHeaders(headers),
    listening: transport.listening,
    // A server that has opened such a stream before is probably busy.
    listeningMs: upstream.answersStreams ? Math.min(BUSY_MS, options.startMs) : undefined,
    listenAgain: () => {
      void transport.listen()
      return transport.listening
    },
  }
}

function overSse(address: HttpAddress, options: LinkOptions, authorizer?: Authorizer): OpenedTransport {
  const { startMs, credentials } = options
  const own = new OwnHeaders(options.via, credentials)
  const transport = sseTransport(address, {
    ...(authorizer && { authorizer }),
    maxBytes: options.maxMessageBytes,
    wrapFetch: (inner) => own.fetch(lostSessionFetch(inner)),
    startTimeoutMs: startMs,
  })
  const setHeaders = (headers: Readonly<Record<string, string>>): void => own.set(headers)
  return { transport, endSession: () => Promise.resolve(), setHeaders, isSession: true }
}

/** The current headers of the link's only caller: tokens change while a session lasts. */
class OwnHeaders {
  readonly #via: Via
  #headers: Readonly<Record<string, string>>

  constructor(via: Via, { headers = {} }: Credentials = {}) {
    this.#via = via
    this.#headers = headers
  }

  set(headers: Readonly<Record<string, string>>): void {
    this.#headers = headers
  }

  fetch(inner: FetchLike): FetchLike {
    return (url, init) => {
      const headers = new Headers(init?.headers)
      for (const [name, value] of Object.entries(this.#headers)) headers.set(name, value)
      headers.set(VIA_HEADER, this.#via.header)
      return inner(url, { ...init, headers })
    }
  }
}

/** Lines kept from the beginning. Programs often print the reason first. */
const FIRST_LINES = 5
/** Lines kept from the end. The stack of an error has up to twelve lines, after the error itself. */
const LAST_LINES = 15
/** Maximum number of characters in each of the two parts. */
const MAX_CHARACTERS = 2000
/** Terminal escape sequences and all other control characters. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0a-\x1f\x7f-\x9f]/g

/** The first and the last lines of a program, for the log. */
export class PrintedLines {
  readonly #first: string[] = []
  readonly #last: string[] = []
  #firstCharacters = 0
  #lastCharacters = 0
  #omitted = 0

  get lines(): readonly string[] {
    const omitted = this.#omitted === 0 ? [] : [`(${this.#omitted} more ${this.#omitted === 1 ? 'line' : 'lines'})`]
    return [...this.#first, ...omitted, ...this.#last]
  }

  add(line: string): void {
    const text = line.replace(CONTROLS, '').trimEnd().slice(0, MAX_CHARACTERS)
    if (text === '') return
    const isFirst = this.#last.length === 0 && this.#first.length < FIRST_LINES
    if (isFirst && this.#firstCharacters + text.length <= MAX_CHARACTERS) {
      this.#first.push(text)
      this.#firstCharacters += text.length
      return
    }
    this.#last.push(text)
    this.#lastCharacters += text.length
    while (this.#last.length > LAST_LINES || this.#lastCharacters > MAX_CHARACTERS) {
      this.#lastCharacters -= this.#last.shift()?.length ?? 0
      this.#omitted++
    }
  }
}

/** Shorter values are common words and numbers, not secrets. */
const MIN_SECRET_CHARACTERS = 6

/** Masks values that may be secret in a line. Multi-line values, such as keys, are masked line by line. */
export function maskOf(values: readonly string[]): (line: string) => string {
  const parts = values.flatMap((value) => value.split(/\r?\n/)).map((part) => part.trim())
  const secrets = [...new Set(parts)].filter(({ length }) => length >= MIN_SECRET_CHARACTERS)
  const longestFirst = secrets.toSorted((a, b) => b.length - a.length)
  return (line) => longestFirst.reduce((text, secret) => text.replaceAll(secret, '***'), line)
}
