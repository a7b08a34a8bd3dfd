/**
 * Putting a call to sleep. An answerer that cannot answer now throws `Suspend`; the rounds layer then ends the call
 * with the result of `suspendCall`, in which the caller finds the saved call by `suspendedOf`.
 *
 * For the layer:
 * - it waits for the other answerers of the round, so that what they answered is saved along;
 * - any question whose answerer threw `Suspend` is open, and any other error ends the call as an error;
 * - a request that already brings `inputResponses` or `requestState` is a resumed call: it goes out as it is, and a
 *   later round repeats its parameters without these two;
 * - a pushed question cannot be suspended: its server holds the call open, and gets a refusal.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json } from '../../protocol/index.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import type { Answerer } from '../questions/answerer.ts'
import { type AskingMethod, lastingParams, readSaved, SAVED_VERSION, type SavedCall } from './savedCall.ts'

/** Where calls are put that wait. */
export interface SavedStore {
  save(saved: SavedCall): void | Promise<void>
}

export interface SuspendOptions {
  /** Takes the saved call before the caller sees the result. Without one, the caller stores it. */
  store?: SavedStore
  /** Where to connect when the call is continued. @default where it was connected to */
  target?: string | readonly string[]
  /** The folder that a command starts in, where it matters. @default with `target` none, else where it was started */
  cwd?: string
}

const LEFT_OPEN = 'The question is left open for later; under rounds() the call ends as suspended.'

/** Thrown by an answerer: the answer comes later, perhaps to another process. */
export class Suspend extends Error {
  override readonly name = 'Suspend'
  readonly options: SuspendOptions

  constructor(options: SuspendOptions = {}, sentence: string = LEFT_OPEN) {
    super(sentence)
    this.options = options
  }
}

/** Answers nothing now: the call ends with a result from which `resume` continues it, days later, anywhere. */
export function suspend(options: SuspendOptions = {}): Answerer {
  return () => {
    throw new Suspend(options)
  }
}

/** One round in which at least one question stays open. */
export interface OpenRound {
  readonly method: AskingMethod
  /** The parameters as the caller gave them; what belongs to one round or one connection is left out here. */
  readonly params: Json
  /** The open questions, and what their answerers threw. */
  readonly open: Readonly<Record<string, { readonly request: InputRequest; readonly suspend: Suspend }>>
  /** What the other answerers of the round gave. */
  readonly inputResponses: Readonly<Record<string, Json>>
  readonly requestState: string | undefined
  readonly server: { readonly name: string | undefined; readonly target: string | undefined }
  /** Where the server is found again; undefined where only what people call it is known. */
  readonly place: SavedPlace | undefined
}

/** Saves the call, and gives the result that ends it for its caller: valid for its method in both eras. */
export async function suspendCall(round: OpenRound, now: number = Date.now()): Promise<Json> {
  const saved = savedFrom(round, now)
  const stores = new Set(Object.values(round.open).map(({ suspend }) => suspend.options.store))
  for (const store of stores) await store?.save(saved)
  return { ...EMPTY_RESULTS[round.method], resultType: 'complete', _meta: { [META_KEY]: marked(saved) } }
}

export interface Suspended {
  readonly saved: SavedCall
}

/** The saved call, if a result says that its call was suspended here. What a server wrote there counts for nothing. */
export function suspendedOf(result: unknown): Suspended | undefined {
  const meta = isObject(result) ? result['_meta'] : undefined
  const note = isObject(meta) ? meta[META_KEY] : undefined
  if (!isObject(note) || typeof note['mark'] !== 'string' || !isOurs(note['mark'], note['saved'])) return undefined
  return { saved: readSaved(note['saved']) }
}

const META_KEY = 'dev.pannier/suspended'

const NOTE = 'The call is suspended: it waits for an answer, and can be continued with it.'

// An error, so that no reader takes it for what the tool gives, and no output schema is asked for.
const EMPTY_RESULTS: Readonly<Record<AskingMethod, Json>> = {
  'tools/call': { content: [{ type: 'text', text: NOTE }], isError: true },
  'prompts/get': { description: NOTE, messages: [] },
  'resources/read': { contents: [], ttlMs: 0, cacheScope: 'private' },
}

function savedFrom(round: OpenRound, now: number): SavedCall {
  const { method, params, open, inputResponses, requestState, server } = round
  return asJson({
    version: SAVED_VERSION,
    savedAt: new Date(now).toISOString(),
    ...placeFor(round),
    server: server.name ?? null,
    method,
    params: lastingParams(params),
    inputRequests: Object.fromEntries(Object.entries(open).map(([key, { request }]) => [key, request])),
    inputResponses,
    ...(requestState !== undefined && { requestState }),
  })
}

/** What an answerer says comes first. */
function placeFor({ open, server, place = { target: server.target ?? null } }: OpenRound): SavedPlace {
  const options = Object.values(open).map(({ suspend }) => suspend.options)
  const target = options.find((each) => each.target !== undefined)?.target
  const cwd = options.find((each) => each.cwd !== undefined)?.cwd
  return { ...(target === undefined ? place : { target }), ...(cwd !== undefined && { cwd }) }
}

// A transport inside the process carries objects as they are, with members that no store would keep.
function asJson(saved: SavedCall): SavedCall {
  return readSaved(JSON.stringify(saved))
}

// A saved call names the place that gets the answers, and the credentials that come with them. A server could write
// one into its result; only what this process marked is believed.
const markKey = randomBytes(32)

function marked(saved: SavedCall): Json {
  return { saved, mark: markOf(saved).toString('base64url') }
}

function isOurs(mark: string, saved: unknown): boolean {
  const [given, right] = [Buffer.from(mark, 'base64url'), markOf(saved)]
  return given.length === right.length && timingSafeEqual(given, right)
}

function markOf(saved: unknown): Buffer {
  return createHmac('sha256', markKey)
    .update(JSON.stringify(saved) ?? '')
    .digest()
}
