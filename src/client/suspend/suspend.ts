/**
 * Suspending a call. An answerer that cannot answer now throws `Suspend`; the layer then ends the call with the result
 * of `suspendCall`, in which the caller finds the saved call by `suspendedOf`.
 *
 * What the layers `rounds` and `tasks` do:
 * - they wait for the other answerers of the round, so that their answers are saved with the call;
 * - a question whose answerer threw `Suspend` stays open; any other error ends the call as an error;
 * - a request that already brings `inputResponses` or `requestState` is a resumed call: it is sent unchanged, and later
 *   rounds repeat its parameters without these two;
 * - a pushed question cannot be suspended: its server holds the call open, and gets a refusal.
 */
import { assertOptionNames, isObject, type Json, nodeModule, type OptionNames } from '../../protocol/index.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import type { LeftOpen } from '../questions/answerAll.ts'
import { type Answerer, AnswerLater } from '../questions/answerer.ts'
import { type AskingMethod, lastingParams, readSaved, SAVED_VERSION, type SavedCall } from './savedCall.ts'

/** Where suspended calls are saved. */
export interface SavedStore {
  save(saved: SavedCall): void | Promise<void>
}

export interface SuspendOptions {
  /** Takes the saved call before the caller sees the result. Without one, the caller stores it. */
  store?: SavedStore
  /** Where to connect when the call is continued. @default where it was connected to */
  target?: string | readonly string[]
  /** The working folder of a command. @default with `target` none, else the folder where it was started */
  cwd?: string
}

/** Thrown by an answerer: the answer comes later, perhaps in another process. */
export class Suspend extends AnswerLater {
  readonly options: SuspendOptions

  constructor(options: SuspendOptions = {}) {
    super('The question is left open for later; under rounds() the call ends as suspended.')
    this.options = options
  }
}

const SUSPEND_OPTIONS: OptionNames<SuspendOptions> = { store: true, target: true, cwd: true }

/** Answers nothing now: the call ends with a result from which `resume` continues it, days later, in any process. */
export function suspend(options: SuspendOptions = {}): Answerer {
  assertOptionNames(options, SUSPEND_OPTIONS, 'suspend()')
  return () => {
    throw new Suspend(options)
  }
}

/** One round in which at least one question stays open. */
export interface OpenRound {
  readonly method: AskingMethod
  /** The parameters as the caller gave them. What belongs to one round or one connection is not saved. */
  readonly params: Json
  /** The open questions, and what their answerers threw. */
  readonly open: Readonly<Record<string, LeftOpen>>
  /** The answers of the other answerers of the round. */
  readonly inputResponses: Readonly<Record<string, Json>>
  readonly requestState: string | undefined
  readonly server: { readonly name: string | undefined; readonly target: string | undefined }
  /** Where the server is found again; undefined if only the name for people is known. */
  readonly place: SavedPlace | undefined
}

/** Saves the call, and gives the result that ends it for its caller: valid for its method in both eras. */
export async function suspendCall(round: OpenRound, now: number = Date.now()): Promise<Json> {
  const saved = savedFrom(round, now)
  const stores = new Set(suspendOptionsOf(round).map(({ store }) => store))
  for (const store of stores) await store?.save(saved)
  return { ...EMPTY_RESULTS[round.method], resultType: 'complete', _meta: { [SUSPENDED_META]: marked(saved) } }
}

/** A call that was suspended. */
export interface Suspended {
  readonly saved: SavedCall
}

/** The saved call, if a result says that its call was suspended in this process. Texts of servers are ignored. */
export function suspendedOf(result: unknown): Suspended | undefined {
  const meta = isObject(result) ? result['_meta'] : undefined
  const note = isObject(meta) ? meta[SUSPENDED_META] : undefined
  if (!isObject(note) || typeof note['mark'] !== 'string' || !isOurs(note['mark'], note['saved'])) return undefined
  return { saved: readSaved(note['saved']) }
}

const SUSPENDED_META = 'dev.pannier/suspended'

const SUSPENDED_NOTE = 'The call is suspended: it waits for an answer, and can be continued with it.'

// `isError`, so that no reader takes it for the tool's result, and the SDK does not check it against an output schema.
const EMPTY_RESULTS: Readonly<Record<AskingMethod, Json>> = {
  'tools/call': { content: [{ type: 'text', text: SUSPENDED_NOTE }], isError: true },
  'prompts/get': { description: SUSPENDED_NOTE, messages: [] },
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

/** Where to connect later: the place that an answerer gave, else that of the connection. */
function placeFor(round: OpenRound): SavedPlace {
  const { server, place = { target: server.target ?? null } } = round
  const options = suspendOptionsOf(round)
  const target = options.find((each) => each.target !== undefined)?.target
  const cwd = options.find((each) => each.cwd !== undefined)?.cwd
  return { ...(target === undefined ? place : { target }), ...(cwd !== undefined && { cwd }) }
}

function suspendOptionsOf({ open }: OpenRound): SuspendOptions[] {
  return Object.values(open).map(({ later }) => (later instanceof Suspend ? later.options : {}))
}

// An in-memory transport carries objects as they are, with members that JSON does not have.
function asJson(saved: SavedCall): SavedCall {
  return readSaved(JSON.stringify(saved))
}

// A saved call names the server that gets the answers, and the credentials that come with them. A server could write a
// saved call into its result, so only one with the HMAC of this process is believed.
let markKey: string | undefined // Workers have no random values before their first request

function marked(saved: SavedCall): Json {
  return { saved, mark: markOf(saved).toString('base64url') }
}

function isOurs(mark: string, saved: unknown): boolean {
  const [given, right] = [Buffer.from(mark, 'base64url'), markOf(saved)]
  return given.length === right.length && nodeModule('node:crypto').timingSafeEqual(given, right)
}

function markOf(saved: unknown): Buffer {
  markKey ??= crypto.randomUUID()
  return nodeModule('node:crypto')
    .createHmac('sha256', markKey)
    .update(JSON.stringify(saved) ?? '')
    .digest()
}
