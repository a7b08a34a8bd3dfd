/** The ready-made client: the SDK's own, connected in the era that the server speaks, with our layers on. */
import {
  type Client,
  type ClientOptions,
  type FetchLike,
  type PriorDiscovery,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import type { Answerers } from './questions/answerer.ts'
import type { Authorizer } from './transports/authorization.ts'
import { compose } from './layer/layer.ts'
import { connectFailure, withoutPage } from './failureReason.ts'
import { deadline } from './layer/deadline.ts'
import { type FlushOnClose, flushOnClose } from './layer/flush.ts'
import { type JarChoice, openJar } from './jar/open.ts'
import { limitedValidator } from './limitedValidator.ts'
import type { Notice } from './notice.ts'
import { SdkClient } from './sdkClient.ts'
import { placeOf } from './config/savedPlace.ts'
import { rounds } from './rounds/layer.ts'
import { scope } from './scope/layer.ts'
import { addressOf, nameOf, type Target } from './config/target.ts'
import { tasks, type TasksOptions } from './tasks/layer.ts'
import { timerMs } from './timerMs.ts'
import type { Layer } from './layer/transport.ts'
import { openTransport, type OpenTransport } from './openTransport.ts'

export interface ConnectOptions {
  /** Who answers what the server asks. A kind without an answerer is not declared. @default nobody */
  answerers?: Answerers
  /** How often one call may be sent again before it fails. @default 10 */
  maxRounds?: number
  /** The largest state that the server may have sent back with a call. @default 4194304 */
  maxStateBytes?: number
  /** How calls that become tasks are followed; false tells the server to make none. @default they are */
  tasks?: false | Omit<TasksOptions, 'answerers' | 'server' | 'place'>
  /** Keeps what the server asks to keep: a store, the path of a file, or false. @default in memory, for this client */
  jar?: JarChoice
  /** Whose state that is. Two principals never see each other's. @default 'default' */
  principal?: string
  /** What its session state lives with; end it with `store.endContext`. @default this client, until it is closed */
  context?: string
  /** Also keeps state for localhost and IP addresses. For development. @default false */
  allowLocal?: boolean
  /**
   * Also refuses what an older server asks on the stream of no request while one is under way (SEP-2260). Many servers
   * of that era do ask there, and a revision before 2026-07-28 allows it. @default false
   */
  strictScope?: boolean
  /** Sent with each HTTP request. */
  headers?: Readonly<Record<string, string>>
  /** A bearer token, or where to get the one for now. */
  bearer?: string | (() => string | Promise<string>)
  /** OAuth by the SDK: one of its providers, or one that can also wait for a person who logs in. */
  authorizer?: Authorizer
  /** What this client calls itself. @default 'pannier' */
  name?: string
  /** @default '0' */
  version?: string
  /** How long the server may be silent, in milliseconds. The time that answerers take does not count. @default 60000 */
  timeoutMs?: number
  /** How long connecting may take, with the start of a process. @default 60000 */
  connectTimeoutMs?: number
  /** The era that the server was found to have before (the SDK's form); nothing is asked then. */
  prior?: PriorDiscovery
  /** Gives up connecting. */
  signal?: AbortSignal
  /** Hears what is worth a line in a log: refused requests and state, errors beside calls, a process's stderr. */
  onNotice?: (notice: Notice) => void
  /** Options of the SDK's client, such as capabilities of your own, `listChanged` or a cache. */
  client?: ClientOptions
  /** @default the global fetch */
  fetch?: FetchLike
}

/** A server on a local pipe that says nothing to the first question is of the older era; the SDK would wait a minute. */
const STDIO_PROBE_MS = 5_000
const MINUTE_MS = 60_000

/** With times that timers can take. */
type Settled = ConnectOptions & ReturnType<typeof timesOf>

function timesOf({ connectTimeoutMs = MINUTE_MS, timeoutMs = MINUTE_MS }: ConnectOptions) {
  return {
    connectTimeoutMs: timerMs(connectTimeoutMs, '"connectTimeoutMs"'),
    timeoutMs: timerMs(timeoutMs, '"timeoutMs"'),
  }
}

export async function connect(target: Target, given: ConnectOptions = {}): Promise<Client> {
  const options = { ...given, ...timesOf(given) }
  options.signal?.throwIfAborted()
  const address = await addressOf(target)
  options.signal?.throwIfAborted()
  const name = nameOf(target)
  const wire = openTransport(address, options)
  try {
    return await connectBy(wire, target, options, options.prior)
  } catch (error) {
    options.signal?.throwIfAborted()
    if (!diedOfTheProbe(error, wire)) throw connectFailure(error, attempt(wire, name, options))
  }
  // Some older servers end when they are asked anything before `initialize`. Then they are asked that.
  const again = openTransport(address, options)
  try {
    return await connectBy(again, target, options, { kind: 'legacy' })
  } catch (error) {
    options.signal?.throwIfAborted()
    throw connectFailure(error, attempt(again, name, options))
  }
}

async function connectBy(
  wire: OpenTransport,
  target: Target,
  options: Settled,
  prior?: PriorDiscovery,
): Promise<Client> {
  const { connectTimeoutMs, timeoutMs, signal } = options
  const jar = openJar(wire.address, options)
  const leaving = flushOnClose(wire.endSession)
  const client = clientFor(wire, options, async () => {
    await leaving.flush()
    await jar.close()
  })
  const watching = { ended: () => wire.ended(), isLeaving: () => leaving.isClosing() }
  const layers = compose(upperLayers(target, options, leaving), jar.layer, deadline(timeoutMs, watching), leaving.layer)
  // The SDK's first question to a server knows no signal.
  const giveUp = (): void => void wire.transport.close()
  signal?.addEventListener('abort', giveUp, { once: true })
  try {
    const more = { ...(signal && { signal }), ...(prior && { prior }) }
    await client.connect(layers(wire.transport), { timeout: connectTimeoutMs, ...more })
    return client
  } catch (error) {
    await client.close()
    await wire.transport.close()
    throw error
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }
}

function clientFor({ isProcess }: OpenTransport, options: Settled, leave: () => Promise<void>): Client {
  const { name = 'pannier', version = '0', connectTimeoutMs, onNotice } = options
  const probe = isProcess && { probe: { timeoutMs: Math.min(STDIO_PROBE_MS, connectTimeoutMs) } }
  const ours: ClientOptions = {
    versionNegotiation: { mode: 'auto', ...probe },
    jsonSchemaValidator: limitedValidator(new AjvJsonSchemaValidator()),
  }
  const client = new SdkClient({ name, version }, { ...ours, ...options.client }, leave)
  client.onerror = (error) => onNotice?.({ kind: 'error', error: withoutPage(error) })
  return client
}

function upperLayers(target: Target, options: ConnectOptions, leaving: FlushOnClose): Layer {
  const { answerers = {}, maxRounds, maxStateBytes, onNotice } = options
  const limits = {
    ...(maxRounds !== undefined && { maxRounds }),
    ...(maxStateBytes !== undefined && { maxStateBytes }),
  }
  const asking = { answerers, server: { target: nameOf(target) }, place: placeOf(target) }
  return compose(
    rounds({ ...asking, ...limits }),
    options.tasks === false ? compose() : compose(tasks({ ...options.tasks, ...asking }), leaving.layer),
    scope({ onRefused: (refused) => onNotice?.({ kind: 'refused', refused }) }),
  )
}

function diedOfTheProbe(error: unknown, wire: OpenTransport): boolean {
  const isProbe = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
  return isProbe && wire.isProcess && wire.ended() !== undefined
}

function attempt(wire: OpenTransport, name: string, { connectTimeoutMs }: Settled) {
  return { name, timeoutMs: connectTimeoutMs, ended: wire.ended() }
}
