/**
 * The questions a handler can ask, as journal questions with a fingerprint, or as `input_required` of explicit style.
 */
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitResult,
  InputRequest,
  ListRootsResult,
} from '@modelcontextprotocol/client'
import { type Approvers, Declined, type Question, type Reading } from '../../journal/index.ts'
import {
  ASK_MODEL_META,
  assertOptionNames,
  isObject,
  type Json,
  NOT_ACCEPTED,
  type OptionNames,
  remembered,
} from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'
import { compileSchema, type InferSchema, type SchemaLike } from '../schema/schema.ts'

/** A form for the person at the client. */
export interface Form<S extends SchemaLike = SchemaLike> {
  /** Shown to the person. */
  message: string
  /** The fields: an object of strings, numbers, booleans and choices, not nested. */
  schema: S
  /** Sent as it is. A form without it is one, too; some clients want to read it. @default left out */
  mode?: 'form'
  /**
   * Whether an answer is valid only for exactly this message and these fields. If they change between rounds, the
   * question is asked again. Without it the first round needs no state.
   * @default true
   */
  pin?: boolean
  /**
   * Who may answer, if not the caller: `role:manager`, `sub:ann`, or a list of which one must match. If the caller may
   * not answer, only a task can wait for the answer. @default the caller
   */
  by?: string | readonly string[]
  /** Whether the caller may not answer, even if the caller matches `by`. @default false */
  fourEyes?: boolean
  /**
   * Whether the model may answer where the client cannot show the form and the server has `questions: { askModel: true }`. A form
   * with `by` is always for people. @default false
   */
  askModel?: boolean
}

const FORM_OPTIONS: OptionNames<Form> = {
  message: true,
  schema: true,
  mode: true,
  pin: true,
  by: true,
  fourEyes: true,
  askModel: true,
}

/** The person's action on a form, with the content checked. */
export type Elicited<S extends SchemaLike> =
  | { readonly action: 'accept'; readonly content: InferSchema<S> }
  | { readonly action: 'decline' | 'cancel' }

/** The content of an accepted form; a refusal throws Declined. */
export function askForm<S extends SchemaLike>(form: Form<S>): Question<InferSchema<S>> {
  return {
    ...elicitForm(form),
    read: async (key, response) => {
      if (response['action'] !== 'accept') throw new Declined(key, response['action'] as 'decline' | 'cancel')
      return readContent(form, response['content'])
    },
  }
}

/** The three-way result of a form. */
export function elicitForm<S extends SchemaLike>(form: Form<S>): Question<Elicited<S>> {
  const request = formRequest(form)
  const approvers = approversOf(form)
  const fingerprint = formFingerprint(request)
  return {
    request,
    approvers,
    pinned: form.pin ?? true,
    // An answer is valid for the approvers at the time of the question, not for others that the handler names later.
    fingerprint: approvers === undefined ? fingerprint : digestOf([fingerprint, approvers]),
    again: (issues) => withIssues(request, issues),
    read: async (_, response) => {
      const action = response['action']
      if (action !== 'accept') return { ok: true, value: { action: action as 'decline' | 'cancel' } }
      const content = await readContent(form, response['content'])
      return content.ok ? { ok: true, value: { action: 'accept', content: content.value } } : content
    },
  }
}

/** Sends the person to a page (URL mode). Only the page itself tells the server what happened there. */
export function visitPage(url: string, message: string): Question<ElicitResult> {
  if (typeof message !== 'string')
    throw new TypeError('ctx.visit(key, url, message): the message says why to go there.')
  const request: InputRequest = {
    method: 'elicitation/create',
    params: { mode: 'url', message, url: addressOf(url) } as never,
  }
  return {
    ...fingerprinted(request, true),
    read: (key, response) => {
      if (response['action'] !== 'accept') throw new Declined(key, response['action'] as 'decline' | 'cancel')
      return { ok: true, value: response as unknown as ElicitResult }
    },
  }
}

function addressOf(url: string): string {
  if (URL.canParse(url)) return new URL(url).href
  throw new TypeError('ctx.visit(key, url, message): the url is a whole address, such as https://example.com/pay.')
}

export function sampleModel(params: CreateMessageRequestParams): Question<CreateMessageResult> {
  if (!isObject(params) || !Array.isArray(params.messages) || typeof params.maxTokens !== 'number') {
    const example = "{ messages: [{ role: 'user', content: { type: 'text', text: '…' } }], maxTokens: 500 }"
    throw new TypeError(`ctx.sample(key, params) needs messages and maxTokens: ${example}.`)
  }
  return { ...fingerprinted({ method: 'sampling/createMessage', params }, true), read: asIs }
}

export function listRoots(): Question<ListRootsResult> {
  return { ...fingerprinted({ method: 'roots/list' }, true), read: asIs }
}

/** A question on behalf of another server, whose response is not read here. */
export function relayedQuestion(request: InputRequest, approvers?: Approvers): Question<Json> {
  const fingerprint = digestOf(approvers === undefined ? request : [request, approvers])
  return { request, approvers, pinned: true, fingerprint, read: asIs }
}

/** The input request of a form, for handlers in explicit style. */
function formRequest(form: Form): InputRequest {
  // A schema may be a function, as arktype's are.
  if (typeof form?.message !== 'string' || !form.schema || typeof form.schema === 'string') {
    throw new TypeError(
      'A form needs a message and a schema: ctx.ask("sure", { message: "Sure?", schema: z.object({ … }) }).',
    )
  }
  assertOptionNames(form, FORM_OPTIONS, `The form "${form.message}"`)
  const { message, mode, askModel } = form
  if (mode !== undefined && mode !== 'form')
    throw new TypeError(`The mode of the form "${message}" can only be 'form'. For a page to visit there is ctx.visit.`)
  const { json } = compileSchema(form.schema, 'input', `The form "${message}"`)
  const fields = { ...(mode !== undefined && { mode }), message, requestedSchema: flat(json, message) }
  const params: Json = askModel ? { ...fields, _meta: { [ASK_MODEL_META]: true } } : fields
  return { method: 'elicitation/create', params } as unknown as InputRequest
}

const MAX_APPROVERS = 32
const MAX_APPROVER_CHARS = 256

function approversOf({ by, fourEyes = false, pin = true, message }: Form): Approvers | undefined {
  if (by === undefined) {
    if (fourEyes) throw new TypeError(`The form "${message}" has "fourEyes" and does not say who may answer: add "by".`)
    return undefined
  }
  const names: readonly unknown[] = typeof by === 'string' ? [by] : by
  const areNames = Array.isArray(names) && names.length > 0 && names.length <= MAX_APPROVERS && names.every(isApprover)
  if (!areNames) throw new TypeError(`In the form "${message}", "by" must be a string like "role:manager", or a list.`)
  if (!pin) throw new TypeError(`The form "${message}" has "by", so its answer must be pinned; leave out "pin".`)
  return { by: names, fourEyes }
}

function isApprover(name: unknown): name is string {
  return typeof name === 'string' && name.length > 0 && name.length <= MAX_APPROVER_CHARS
}

/** The form, with the reason why the last answer was refused. */
function withIssues(request: InputRequest, issues: string): InputRequest {
  const message = `${(request.params as { message: string }).message}\n\n${NOT_ACCEPTED} ${issues}`
  return { ...request, params: { ...request.params, message } } as InputRequest
}

async function readContent<S extends SchemaLike>(form: Form<S>, content: unknown): Promise<Reading<InferSchema<S>>> {
  const checked = await compileSchema(form.schema, 'input', 'The form').check(content)
  return checked.ok ? { ok: true, value: checked.value as InferSchema<S> } : checked
}

function asIs<T>(_: string, response: Json): Reading<T> {
  return { ok: true, value: response as T }
}

function fingerprinted(request: InputRequest, pinned: boolean) {
  return { request, pinned, fingerprint: digestOf(request) }
}

/** Remembered: fields rarely change, while messages differ from call to call. */
const fieldsDigest = remembered((requestedSchema: object) => digestOf(requestedSchema))

function formFingerprint(request: InputRequest): string {
  const { message, requestedSchema } = request.params as { message: string; requestedSchema: object }
  return digestOf([message, fieldsDigest(requestedSchema)])
}

const SIMPLE_TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean'])

/** A primitive, or a list of choices (`PrimitiveSchemaDefinition` of the specification). */
function isField(property: unknown): boolean {
  if (!isObject(property)) return false
  const { type, items } = property
  return SIMPLE_TYPES.has(type) || (type === 'array' && isObject(items) && ('enum' in items || 'anyOf' in items))
}

const flattened = new WeakMap<object, Json>()

/** Forms are flat on the wire ("Only top-level properties are allowed, without nesting"). */
function flat(json: Json, message: string): Json {
  const known = flattened.get(json)
  if (known !== undefined) return known
  const { type, properties, required } = json
  if (type !== 'object' || !isObject(properties))
    throw new TypeError(`The form "${message}" must be an object with properties.`)
  for (const [name, property] of Object.entries(properties)) {
    if (isField(property)) continue
    throw new TypeError(
      `The form "${message}" has a field "${name}" of a type that forms do not have; ` +
        'its fields are texts, numbers, yes or no, one choice, or several choices of a list.',
    )
  }
  const form = { type, properties, ...(required !== undefined && { required }) }
  flattened.set(json, form)
  return form
}

/** The return value with which a handler in explicit style asks: input requests, and the state for its next round. */
export class InputRequired {
  readonly inputRequests: ReadonlyMap<string, InputRequest>
  readonly requestState: unknown

  constructor(inputRequests: ReadonlyMap<string, InputRequest>, requestState: unknown) {
    this.inputRequests = inputRequests
    this.requestState = requestState
  }
}

interface InputRequiredOptions {
  /** Forms, or input requests as they go over the wire. */
  inputRequests?: Readonly<Record<string, Form | InputRequest>>
  /** Any JSON. It is sealed, travels with the client, and comes back as `ctx.requestState`. */
  requestState?: unknown
}

/** In explicit style the handler reads the answers itself, unchecked, so nothing could tell who gave them. */
function callersForm(form: Form): InputRequest {
  if (form.by === undefined) return formRequest(form)
  throw new TypeError(`The form "${form.message}" has "by"; ask it with ctx.ask or ctx.elicit.`)
}

/** The result of a handler that asks in the explicit style: it is called again with the answers. */
export function inputRequired({ inputRequests = {}, requestState }: InputRequiredOptions): InputRequired {
  const requests = new Map(
    Object.entries(inputRequests).map(([key, ask]) => [key, 'method' in ask ? ask : callersForm(ask)] as const),
  )
  if (requests.size === 0 && requestState === undefined) {
    throw new TypeError('inputRequired needs at least one of inputRequests and requestState.')
  }
  return new InputRequired(requests, requestState)
}
