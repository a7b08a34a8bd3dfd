/** `connect` gives the SDK's client, connected in the era that the server speaks, with Pannier's layers. */
import type { Client, ClientOptions, FetchLike, PriorDiscovery } from '@modelcontextprotocol/client'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import type { Answerers } from './questions/answerer.ts'
import { assertAnswerers } from './questions/kinds.ts'
import type { Authorizer } from './transports/authorization.ts'
import { compose } from './layer/layer.ts'
import { connectFailure, withoutPage } from './failureReason.ts'
import { deadline, IDLE_MS } from './layer/deadline.ts'
import { type FlushOnClose, flushOnClose, SdkClient } from './sdkClient.ts'
import { type JarChoice, openJar } from './jar/open.ts'
import { hasTimeLimits, limitedValidator } from './limitedValidator.ts'
import type { Notice } from './notice.ts'
import { placeOf } from './config/savedPlace.ts'
import { rounds } from './rounds/layer.ts'
import { scope } from './scope/layer.ts'
import { addressOf, nameOf, type Target } from './config/target.ts'
import { tasks, type TasksOptions } from './tasks/layer.ts'
import type { Layer } from './layer/transport.ts'
import type { Address } from './config/address.ts'
import type { ClientError } from './errors.ts'
import { assertOptionNames, MODERN_VERSION, type OptionNames, timerMs } from '../protocol/index.ts'
import { firstWay, mostTelling, nextWay, type ServerEra, type FailedAttempt, type ConnectWay } from './ways.ts'
import { openTransport, type OpenTransport } from './openTransport.ts'

export interface ConnectOptions {
  /** Who answers what the server asks. A kind without an answerer is not declared. @default nobody */
  answerers?: Answerers
  /** How often one call, or the task that it becomes, may ask before it fails. @default 100 */
  maxRounds?: number
  /** The largest `requestState` that is accepted from the server, in bytes. @default 4194304 */
  maxStateBytes?: number
  /** How calls that become tasks are followed. With false, tasks are not declared. @default they are followed */
  tasks?: false | Omit<TasksOptions, 'answerers' | 'server' | 'place'>
  /** Where the server's state is kept: a store, the path of a file, or false. @default in memory, for this client */
  jar?: JarChoice
  /** Whose state that is. State is never shared between principals. @default 'default' */
  principal?: string
  /** How long session state is kept: until `store.endContext` ends this context. @default until the client is closed */
  context?: string
  /** Also keeps state for localhost and IP addresses, for development. @default false */
  allowLocal?: boolean
  /**
   * Also refuses questions on a session's GET stream, which belongs to no request (SEP-2260). Many servers ask there,
   * and their revisions allow it. @default false
   */
  strictScope?: boolean
  /** Sent with each HTTP request. */
  headers?: Readonly<Record<string, string>>
  /** A bearer token, or a function that gives the current one. */
  bearer?: string | (() => string | Promise<string>)
  /** OAuth by the SDK: one of its providers, or one that can also wait until a person has logged in. */
  authorizer?: Authorizer
  /** The name that this client gives to servers. @default 'pannier' */
  name?: string
  /** The version that this client gives to servers. @default '0' */
  version?: string
  /** How long the server may be silent, in milliseconds. The time that answerers take does not count. @default 60000 */
  timeoutMs?: number
  /** How long connecting may take, including the start of a process, in milliseconds. @default 60000 */
  connectTimeoutMs?: number
  /**
   * The only way that is tried: the stateless era, the session era, or the session era over HTTP+SSE (2024-11-05).
   * @default the server is asked for its era, and what it does not answer is tried as well
   */
  era?: ServerEra
  /** The era of the server, if it is known from before, in the SDK's form. Then the server is not asked for it. */
  prior?: PriorDiscovery
  /** Cancels connecting. */
  signal?: AbortSignal
  /**
   * Called with events worth a log line: refused requests and state, errors outside a call, stderr lines of a process.
   */
  onNotice?: (notice: Notice) => void
  /** Options of the SDK's client, such as additional capabilities, `listChanged` or a cache. */
  client?: ClientOptions
  /** Sends the HTTP requests. @default the global fetch */
  fetch?: FetchLike
}

const CONNECT_OPTIONS: OptionNames<ConnectOptions> = {
  answerers: true,
  maxRounds: true,
  maxStateBytes: true,
  tasks: true,
  jar: true,
  principal: true,
  context: true,
  allowLocal: true,
  strictScope: true,
  headers: true,
  bearer: true,
  authorizer: true,
  name: true,
  version: true,
  timeoutMs: true,
  connectTimeoutMs: true,
  era: true,
  prior: true,
  signal: true,
  onNotice: true,
  client: true,
  fetch: true,
}

/** A process that does not respond to the SDK's probe in this time is of the session era. The SDK waits a minute. */
const STDIO_PROBE_MS = 5_000
/** How long connecting may take by default. */
const CONNECT_MS = 60_000

/** Options with the times filled in and checked. */
type TimedOptions = ConnectOptions & ReturnType<typeof timesOf>

function timesOf({ connectTimeoutMs = CONNECT_MS, timeoutMs = IDLE_MS }: ConnectOptions) {
  return {
    connectTimeoutMs: timerMs(connectTimeoutMs, '"connectTimeoutMs"'),
    timeoutMs: timerMs(timeoutMs, '"timeoutMs"'),
  }
}

/** The SDK's client, connected in the era that the server speaks, with the layers that the options ask for. */
export async function connect(target: Target, given: ConnectOptions = {}): Promise<Client> {
  assertOptionNames(given, CONNECT_OPTIONS, 'connect')
  assertAnswerers(given.answerers)
  const options = { ...given, ...timesOf(given) }
  options.signal?.throwIfAborted()
  const address = await addressOf(target)
  options.signal?.throwIfAborted()
  const tried: (FailedAttempt & { readonly opened: OpenTransport })[] = []
  let way: ConnectWay | undefined = firstWay(options.era ?? transportOf(address), options.prior)
  while (way !== undefined) {
    const opened: OpenTransport = openTransport(address, way, options)
    try {
      return await connectBy(opened, target, options, way)
    } catch (error) {
      options.signal?.throwIfAborted()
      const failed: (typeof tried)[number] = {
        way,
        error,
        opened,
        isProcess: opened.isProcess,
        hasEnded: opened.ended() !== undefined,
      }
      tried.push(failed)
      way = options.era === undefined ? nextWay(failed) : undefined
    }
  }
  throw failureOf(tried, nameOf(target), options)
}

async function connectBy(
  opened: OpenTransport,
  target: Target,
  options: TimedOptions,
  way: ConnectWay,
): Promise<Client> {
  const { connectTimeoutMs, timeoutMs, signal } = options
  const jar = openJar(opened.address, options)
  const closing = flushOnClose(opened.endSession)
  const client = clientFor(opened, options, way, async () => {
    await closing.flush()
    await jar.close()
  })
  const ending = { ended: () => opened.ended(), isLeaving: () => closing.isClosing() }
  const layers = compose(upperLayers(target, options, closing), jar.layer, deadline(timeoutMs, ending), closing.layer)
  // The SDK's probe takes no signal, so the transport is closed instead.
  const cancel = (): void => void opened.transport.close()
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    const prior = priorOf(way, options)
    const more = { ...(signal && { signal }), ...(prior && { prior }) }
    await client.connect(layers(opened.transport), { timeout: connectTimeoutMs, ...more })
    return client
  } catch (error) {
    await client.close()
    await opened.transport.close()
    throw error
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}

function clientFor(
  { isProcess }: OpenTransport,
  options: TimedOptions,
  way: ConnectWay,
  beforeClose: () => Promise<void>,
): Client {
  const { name = 'pannier', version = '0', connectTimeoutMs, onNotice } = options
  const probeMs = isProcess ? Math.min(STDIO_PROBE_MS, connectTimeoutMs) : Math.ceil(connectTimeoutMs / 2)
  const ours: ClientOptions = {
    versionNegotiation:
      way === 'stateless' ? { mode: { pin: MODERN_VERSION } } : { mode: 'auto', probe: { timeoutMs: probeMs } },
    ...(hasTimeLimits() && { jsonSchemaValidator: limitedValidator(() => new AjvJsonSchemaValidator()) }),
  }
  const client = new SdkClient({ name, version }, { ...ours, ...options.client }, beforeClose)
  client.onerror = (error) => onNotice?.({ kind: 'error', error: withoutPage(error) })
  return client
}

function upperLayers(target: Target, options: ConnectOptions, closing: FlushOnClose): Layer {
  const { answerers = {}, maxRounds, maxStateBytes, onNotice } = options
  const roundLimit = maxRounds === undefined ? {} : { maxRounds }
  const limits = { ...roundLimit, ...(maxStateBytes !== undefined && { maxStateBytes }) }
  const asking = { answerers, server: { target: nameOf(target) }, place: placeOf(target) }
  return compose(
    rounds({ ...asking, ...limits }),
    options.tasks === false ? compose() : compose(tasks({ ...roundLimit, ...options.tasks, ...asking }), closing.layer),
    scope({ onRefused: (refused) => onNotice?.({ kind: 'refused', refused }) }),
  )
}

function priorOf(way: ConnectWay, { prior }: ConnectOptions): PriorDiscovery | undefined {
  if (way === 'session' || way === 'sse') return { kind: 'legacy' }
  return way === 'ask' ? prior : undefined
}

function transportOf(address: Address): 'sse' | undefined {
  return 'url' in address ? address.transport : undefined
}

function failureOf(
  tried: readonly (FailedAttempt & { readonly opened: OpenTransport })[],
  name: string,
  { connectTimeoutMs }: TimedOptions,
): ClientError {
  const telling = mostTelling(tried)
  const ended = tried.find((each) => each === telling)?.opened.ended()
  return connectFailure(telling?.error, { name, timeoutMs: connectTimeoutMs, ended })
}
