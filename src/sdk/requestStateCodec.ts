import { randomUUID } from 'node:crypto'
import type { ServerContext } from '@modelcontextprotocol/server'
import { type Journal, readJournal, writeJournal } from '../journal/index.ts'
import { decodeHeader } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import { type Binding, createKeyring, createSealer, type Keyring, type Sealer } from '../state/seal/index.ts'

export type RequestStateCodecOptions = SealOptions

/** `mint` writes what `ctx.mcpReq.requestState<T>()` reads in the next round, on any instance with the same keys. */
export interface RequestStateCodec<T = unknown> {
  /** Seals any JSON for `inputRequired({ requestState })`. */
  mint(payload: T, ctx: ServerContext): Promise<string>
  /** For `ServerOptions.requestState.verify`: what it throws, the SDK answers with -32602. Needs no `this`. */
  verify(state: string, ctx: ServerContext): Promise<T>
}

const seals = new WeakMap<RequestStateCodec, StateSeal>()

/**
 * State for handlers of an official SDK server: encrypted where the SDK's own codec signs, bound to the caller and the
 * request, and opened by every key of a ring, so that keys rotate without a lost call.
 *
 * Over stdio nothing in a request tells the hook which tool it is for: there, let a payload say whose it is.
 */
export function requestStateCodec<T = unknown>(options: RequestStateCodecOptions): RequestStateCodec<T> {
  const seal = new StateSeal(options)
  const codec: RequestStateCodec<T> = {
    mint: async (payload, ctx) => seal.sealPayload(payload, ctx),
    verify: async (state, ctx) => seal.open(state, ctx) as T,
  }
  seals.set(codec, seal)
  return codec
}

/** The seal behind a codec. Private to this folder. */
export function sealOf(codec: RequestStateCodec): StateSeal {
  const seal = seals.get(codec)
  if (seal === undefined) throw new TypeError('Make `state` with requestStateCodec.')
  return seal
}

/**
 * Seals what an SDK server asks its clients to bring back.
 *
 * - Bound to audience, principal and method, and over HTTP to the name the request is routed by (`Mcp-Name`, which the
 *   SDK has compared with the body). The SDK tells its hook no arguments, so a journal carries its tool and the digest
 *   of its arguments inside, and `withJournal` compares them.
 * - What a handler minted and what a journal wrote are told apart: neither opens as the other.
 */

interface SealOptions {
  /** The first key seals, every key opens. `ephemeralKeyring()` is enough for one process. @default the variable PANNIER_KEYS */
  keys?: string | Keyring
  /** The name all instances of this server share: a state opens only where it is the same. */
  audience: string
  /** How long a client may take between two rounds, in seconds. @default 3600 */
  ttlSeconds?: number
  /** The longest state made or opened, in bytes. @default 65536 */
  maxBytes?: number
  /** Who calls: what was sealed for one opens for no other. @default nobody is told from anybody */
  principal?: (ctx: ServerContext) => string | undefined
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

/** The journal of a call, and which call that is. */
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
  readonly #sealer: Sealer
  readonly #principal: SealOptions['principal']

  constructor({ keys = process.env['PANNIER_KEYS'] ?? '', principal, ...options }: SealOptions) {
    this.#sealer = createSealer({ ...options, keyring: typeof keys === 'string' ? createKeyring(keys) : keys })
    this.#principal = principal
  }

  sealPayload(payload: unknown, ctx: ServerContext): string {
    // The SDK takes undefined from its hook for "leave the raw string", so it cannot be carried.
    if (payload === undefined) throw new StateError('STATE_NOT_JSON', 'A payload is any JSON but undefined; use null.')
    return this.#seal(ctx, { p: payload }, randomUUID())
  }

  sealCall({ tool, argumentsDigest, journal }: JournaledCall, ctx: ServerContext): string {
    return this.#seal(ctx, { t: tool, a: argumentsDigest, j: writeJournal(journal) }, journal.id, journal.round + 1)
  }

  /** A payload, or the call whose journal it was. */
  open(token: string, ctx: ServerContext): unknown {
    const sealed = this.#sealer.open('request', this.#bindingOf(ctx), token)
    const body = sealed.body as Body
    if ('p' in body) return body.p
    return new JournaledCall(body.t, body.a, readJournal(sealed.id, sealed.round, body.j))
  }

  #seal(ctx: ServerContext, body: Body, id: string, round = 0): string {
    return this.#sealer.seal('request', this.#bindingOf(ctx), { id, round, body })
  }

  #bindingOf(ctx: ServerContext): Binding {
    return { principal: this.#principal?.(ctx), method: ctx.mcpReq.method, name: routedName(ctx) }
  }
}

function routedName({ http }: ServerContext): string | undefined {
  return decodeHeader('Mcp-Name', http?.req?.headers.get('mcp-name') ?? undefined)
}
