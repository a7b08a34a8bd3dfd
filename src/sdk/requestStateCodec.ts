/**
 * Seals the request state of an SDK server.
 *
 * - A state is bound to audience, principal and method, and over HTTP to the `Mcp-Name` header, which the SDK has
 *   compared with the body. The SDK passes no arguments to its `verify` hook, so a sealed journal also contains its tool
 *   and the digest of its arguments, and `withJournal` compares them.
 * - The payload of a handler and the journal of a call have different forms: neither opens as the other.
 */
import type { ServerContext } from '@modelcontextprotocol/server'
import { type Journal, readJournal, writeJournal } from '../journal/index.ts'
import { assertOptionNames, decodeHeader, host, type OptionNames, randomUuid } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import {
  type Binding,
  keyringIn,
  createRoundSealer,
  DEFAULT_TTL_SECONDS,
  type Keyring,
  type RoundSealer,
  type Sealed,
} from '../state/seal/index.ts'

export interface RequestStateCodecOptions {
  /** The first key seals, every key opens. `ephemeralKeyring()` is enough for one process. @default $PANNIER_KEYS */
  keys?: string | Keyring
  /** The name of the server, the same on every instance. A state opens only for the same audience. */
  audience: string
  /** How long a client may take between two rounds, in seconds. @default 3600 */
  ttlSeconds?: number
  /** The maximum size of a state, in bytes, for sealing and for opening. @default 65536 */
  maxBytes?: number
  /** Who calls. A state that was sealed for one principal opens for no other. @default states have no principal */
  principal?: (ctx: ServerContext) => string | undefined
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

/** `mint` seals what `ctx.mcpReq.requestState<T>()` returns in the next round, on any instance with the same keys. */
export interface RequestStateCodec<T = unknown> {
  /** Seals any JSON value for `inputRequired({ requestState })`. */
  mint(payload: T, ctx: ServerContext): Promise<string>
  /** For `ServerOptions.requestState.verify`. When it throws, the SDK answers with -32602. It needs no `this`. */
  verify(state: string, ctx: ServerContext): Promise<T>
}

const CODEC_OPTIONS: OptionNames<RequestStateCodecOptions> = {
  keys: true,
  audience: true,
  ttlSeconds: true,
  maxBytes: true,
  principal: true,
  clock: true,
}

const seals = new WeakMap<RequestStateCodec, StateSeal>()

/**
 * Request state for handlers of an official SDK server. It is encrypted (the SDK's own codec only signs), bound to the
 * caller and the request, and opened by every key of a ring, so that keys can be rotated without losing a call.
 *
 * Over stdio, the SDK's hook does not know which tool a state is for. There, put the name of the tool into the payload.
 */
export function requestStateCodec<T = unknown>(options: RequestStateCodecOptions): RequestStateCodec<T> {
  assertOptionNames(options, CODEC_OPTIONS, 'requestStateCodec')
  const seal = new StateSeal(options)
  const codec: RequestStateCodec<T> = {
    mint: async (payload, ctx) => seal.sealPayload(payload, ctx),
    verify: async (state, ctx) => (await seal.open(state, ctx)) as T,
  }
  seals.set(codec, seal)
  return codec
}

/** The StateSeal of a codec. Private to this folder. */
export function sealOf(codec: RequestStateCodec): StateSeal {
  const seal = seals.get(codec)
  if (seal === undefined) throw new TypeError('Make `state` with requestStateCodec.')
  return seal
}

/** The journal of a call, with the tool and the digest of the arguments that identify the call. */
export class JournaledCall {
  readonly tool: string
  readonly argumentsDigest: string
  readonly journal: Journal

  constructor(tool: string, argumentsDigest: string, journal: Journal) {
    this.tool = tool
    this.argumentsDigest = argumentsDigest
    this.journal = journal
  }
}

type Body =
  | { readonly p: unknown }
  | { readonly t: string; readonly a: string; readonly j: ReturnType<typeof writeJournal> }

export class StateSeal {
  readonly #sealer: RoundSealer
  readonly #principal: RequestStateCodecOptions['principal']
  readonly #audience: string
  /** The lifetime and the clock of a state. */
  readonly lifetime: { readonly ttlSeconds: number; readonly clock: () => number }

  constructor({ keys: given, principal, ...options }: RequestStateCodecOptions) {
    const { ttlSeconds = DEFAULT_TTL_SECONDS, clock = Date.now } = options
    this.lifetime = { ttlSeconds, clock }
    const keys = given ?? host?.env?.['PANNIER_KEYS'] ?? ''
    if (keys === '')
      throw new StateError('KEYS_EMPTY', 'Give requestStateCodec keys, or set PANNIER_KEYS (pannier keys new).')
    const setting = given === undefined ? 'PANNIER_KEYS' : 'The option "keys"'
    const keyring = typeof keys === 'string' ? keyringIn(setting, keys) : keys
    this.#sealer = createRoundSealer({ ...options, keyring })
    this.#principal = principal
    this.#audience = options.audience
  }

  /** Names the server and the caller. */
  scopeOf(ctx: ServerContext): [audience: string, principal: string | null] {
    return [this.#audience, this.#principal?.(ctx) ?? null]
  }

  sealPayload(payload: unknown, ctx: ServerContext): string | Promise<string> {
    // When the hook returns undefined, the SDK keeps the raw string. So undefined cannot be a payload.
    if (payload === undefined)
      throw new StateError('STATE_NOT_JSON', 'A payload is any JSON value, and not undefined; use null.')
    return this.#seal(ctx, { p: payload }, randomUuid())
  }

  sealCall({ tool, argumentsDigest, journal }: JournaledCall, ctx: ServerContext): string | Promise<string> {
    return this.#seal(ctx, { t: tool, a: argumentsDigest, j: writeJournal(journal) }, journal.id, journal.round + 1)
  }

  /** The payload of a handler, or a JournaledCall; or a promise of it. */
  open(token: string, ctx: ServerContext): unknown {
    const opened = this.#sealer.open('request', this.#bindingOf(ctx), token)
    return opened instanceof Promise ? opened.then(contentOf) : contentOf(opened)
  }

  #seal(ctx: ServerContext, body: Body, id: string, round = 0): string | Promise<string> {
    return this.#sealer.seal('request', this.#bindingOf(ctx), { id, round, body })
  }

  #bindingOf(ctx: ServerContext): Binding {
    return { principal: this.#principal?.(ctx), method: ctx.mcpReq.method, name: routedName(ctx) }
  }
}

function contentOf({ id, round, body: sealed }: Sealed): unknown {
  const body = sealed as Body
  return 'p' in body ? body.p : new JournaledCall(body.t, body.a, readJournal(id, round, body.j))
}

function routedName({ http }: ServerContext): string | undefined {
  return decodeHeader('Mcp-Name', http?.req?.headers.get('mcp-name') ?? undefined)
}
