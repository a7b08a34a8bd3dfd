/**
 * Answerers that need no person: known answers, the defaults of forms, refusals, folders, a model of the host, and one
 * that chooses by kind.
 */
import type { InputRequest, CreateMessageRequestParams, CreateMessageResult } from '@modelcontextprotocol/client'
import { assertOptionNames, type Json, nodeModule, type OptionNames } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { Answerer, Answerers, Asked } from '../questions/answerer.ts'
import { defaultOf } from '../../questions/index.ts'
import { answererFor, formFields, noAnswererFor, questionName, wrongKind } from '../questions/kinds.ts'
import { type Given, responseTo } from '../questions/response.ts'

export interface FixedOptions {
  /** Answers questions without a fixed answer. @default such a question is an error that ends the call */
  otherwise?: Answerer
}

const OTHERWISE: OptionNames<FixedOptions> = { otherwise: true }

/** Gives known answers by their keys: `fixed({ confirm: { ok: true }, address: 'decline' })`. */
export function fixed(answers: Readonly<Record<string, Given>>, options: FixedOptions = {}): Answerer {
  assertOptionNames(options, OTHERWISE, 'fixed()')
  const { otherwise } = options
  return (asked) => {
    const { key, request } = asked
    const given = Object.hasOwn(answers, key) ? answers[key] : undefined
    if (given !== undefined) return responseTo(key, request, given)
    if (otherwise !== undefined) return otherwise(asked)
    throw unanswered(asked)
  }
}

function unanswered({ key, isPushed = false }: Asked): ClientError {
  const sentence = isPushed
    ? 'A server of an older revision asked a question, and such questions have no keys; give one answer for every question ("otherwise" of fixed, "*" of --answers).'
    : `${questionName(key)} was asked and has no answer; add it to the answers.`
  return new ClientError('QUESTION_UNANSWERED', sentence)
}

/** Combines answerers: each question goes to the answerer for its kind. For `resume`, which takes one for all. */
export function byKind(answerers: Answerers): Answerer {
  return (asked) => {
    const answerer = answererFor(asked.request, answerers)
    if (answerer === undefined) throw noAnswererFor(asked.key, asked.request)
    return answerer(asked)
  }
}

export interface DefaultsOptions {
  /** Answers the rest: forms with a required field that has no default, pages to visit. @default these are declined */
  otherwise?: Answerer
}

/** Accepts each form with the defaults in its schema, without asking anybody. */
export function defaults(options: DefaultsOptions = {}): Answerer {
  assertOptionNames(options, OTHERWISE, 'defaults()')
  const { otherwise = decline } = options
  return (asked) => {
    const content = contentFromDefaults(asked.request)
    return content === undefined ? otherwise(asked) : { action: 'accept', content }
  }
}

const decline: Answerer = ({ key, request }) => {
  if (request.method !== 'elicitation/create') throw wrongKind(key, 'defaults()', request)
  return { action: 'decline' }
}

/**
 * The content of a form from its defaults; undefined if a required field has no default, or the request is not a form.
 */
function contentFromDefaults({ method, params }: Asked['request']): Json | undefined {
  if (method !== 'elicitation/create' || params.mode === 'url') return undefined
  if (fieldsWithoutDefault({ method, params }).length > 0) return undefined
  const filled = formFields(params.requestedSchema).map((field) => ({ field, value: defaultOf(field) }))
  const given = filled.filter(({ value }) => value !== undefined)
  return Object.fromEntries(given.map(({ field, value }) => [field.key, value]))
}

/** The required fields without a default value; empty if the request is not a form. */
export function fieldsWithoutDefault(request: InputRequest): readonly string[] {
  if (request.method !== 'elicitation/create' || request.params.mode === 'url') return []
  const fields = formFields(request.params.requestedSchema)
  return fields.filter((field) => field.required && defaultOf(field) === undefined).map(({ key }) => key)
}

/**
 * Says no to everything: forms and pages are declined (or cancelled, which servers may take as "ask again later"),
 * folders are an empty list. For a model's answer the protocol has no refusal, so that call ends with an error.
 */
export function refuse(action: 'decline' | 'cancel' = 'decline'): Answerer {
  return ({ key, request }) => refusalOf(key, request, action)
}

function refusalOf(key: string, request: InputRequest, action: 'decline' | 'cancel'): Json {
  switch (request.method) {
    case 'elicitation/create':
      return { action }
    case 'roots/list':
      return { roots: [] }
    case 'sampling/createMessage':
      throw new ClientError('QUESTION_REFUSED', `${questionName(key)} for a model was refused.`)
    default:
      return request satisfies never
  }
}

/** A folder that servers may know of: its path, and the name that is shown for it. */
export type Folder = string | { readonly path: string; readonly name?: string }

/** Answers with these folders, as `file://` URLs of their real paths. They must exist when a server asks. */
export function folders(list: readonly Folder[]): Answerer {
  return async ({ key, request }) => {
    if (request.method !== 'roots/list') throw wrongKind(key, 'folders()', request)
    return { roots: await Promise.all(list.map(rootOf)) }
  }
}

async function rootOf(folder: Folder): Promise<Json> {
  const { path, name } = typeof folder === 'string' ? { path: folder, name: undefined } : folder
  const real = await realFolder(path)
  const uri = nodeModule('node:url').pathToFileURL(real).href
  return { uri, name: name ?? (nodeModule('node:path').basename(real) || real) }
}

async function realFolder(path: string): Promise<string> {
  const { realpath, stat } = nodeModule('node:fs/promises')
  try {
    const real = await realpath(path)
    if ((await stat(real)).isDirectory()) return real
  } catch (cause) {
    throw unusable(path, cause)
  }
  throw unusable(path)
}

function unusable(path: string, cause?: unknown): ClientError {
  return new ClientError('FOLDER_UNUSABLE', `${path} is not a folder that can be read; check the path.`, { cause })
}

/** What a model said: a text, or content in the protocol's form. */
export interface Said {
  /** The name of the model. */
  readonly model: string
  /** What it said. */
  readonly content: string | CreateMessageResult['content'] | readonly Json[]
  /** @default 'assistant' */
  readonly role?: 'assistant' | 'user'
  /** Why it stopped. */
  readonly stopReason?: string
}

/**
 * Lets your model answer. A server wrote the prompt: show it to a person, or check it, if it may read their data or
 * spend their money. To refuse, throw; the call then ends with that error.
 */
export type Model = (params: CreateMessageRequestParams, asked: Asked) => Said | Promise<Said>

/** Answers sampling with a function of yours: `model(async ({ messages }) => ({ model: 'm', content: '…' }))`. */
export function model(say: Model): Answerer {
  return async (asked) => {
    const { key, request } = asked
    if (request.method !== 'sampling/createMessage') throw wrongKind(key, 'model()', request)
    const { content, role = 'assistant', ...said } = await say(request.params, asked)
    const block = typeof content === 'string' ? { type: 'text', text: content } : content
    return responseTo(key, request, { role, content: block, ...said })
  }
}
