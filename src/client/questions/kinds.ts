/** The kinds of questions, with the answerer, the client capability and the name of each. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { assertOptionNames, isObject, type Json, type OptionNames } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { extended } from '../layer/capabilities.ts'
import { type Field, plainLine, readFields } from '../../questions/index.ts'
import type { Answerer, Answerers } from './answerer.ts'

const ANSWERERS: OptionNames<Answerers> = { form: true, url: true, sampling: true, roots: true }

/** An answerer under a misspelt kind would never be asked, and the intended kind would not be declared. */
export function assertAnswerers(answerers: Answerers = {}): void {
  if (typeof answerers === 'function')
    throw new TypeError('The option answerers is an object that says what each answers: { form: terminal() }.')
  assertOptionNames(answerers, ANSWERERS, 'The option answerers')
  for (const [kind, answerer] of Object.entries(answerers)) {
    if (answerer !== undefined && typeof answerer !== 'function')
      throw new TypeError(`The answerer "${kind}" is a function, such as terminal() or fixed({ … }).`)
  }
}

export function answererFor(request: InputRequest, answerers: Answerers): Answerer | undefined {
  return answerers[kindOf(request)]
}

function kindOf(request: InputRequest): keyof Answerers {
  switch (request.method) {
    case 'elicitation/create':
      return request.params.mode === 'url' ? 'url' : 'form'
    case 'sampling/createMessage':
      return 'sampling'
    case 'roots/list':
      return 'roots'
    default:
      return request satisfies never
  }
}

/** The client's capabilities together with those of its answerers. */
export function withAnswerers(capabilities: Json, { form, url, sampling, roots }: Answerers): Json {
  let all = capabilities
  if (form ?? url) all = extended(all, 'elicitation', elicitationOf(all['elicitation'], form, url))
  if (sampling) all = extended(all, 'sampling', {})
  if (roots) all = extended(all, 'roots', {})
  return all
}

/** The client's capabilities, with those for questions of every kind. */
export function withAllKinds(capabilities: Json): Json {
  const elicitation = extended(capabilities, 'elicitation', { form: {}, url: {} })
  return extended(extended(elicitation, 'sampling', { tools: {} }), 'roots', {})
}

function elicitationOf(declared: unknown, form: Answerer | undefined, url: Answerer | undefined): Json {
  // `elicitation` without modes means forms. Beside `url` the mode `form` must be named.
  const formsAlready = isObject(declared) && !('url' in declared)
  return { ...((form ?? formsAlready) && { form: {} }), ...(url && { url: {} }) }
}

/** The name of a question in messages. Its key is the server's text, so it is made plain. */
export function questionName(key: string): string {
  return `The question ${quotedKey(key)}`
}

/** Keys of questions, as messages list them. */
export function quotedKeys(keys: readonly string[]): string {
  return keys.map(quotedKey).join(', ')
}

function quotedKey(key: string): string {
  return `"${plainLine(key, 60)}"`
}

/** The error of an answerer that was given a question of another kind than it answers. */
export function wrongKind(key: string, answerer: string, request: InputRequest): ClientError {
  const sentence = `${questionName(key)} is ${KIND_NAMES[kindOf(request)]}; ${answerer} does not answer those.`
  return new ClientError('QUESTION_UNSUPPORTED', sentence)
}

/** The error for a kind of question without an answerer. */
export function noAnswererFor(key: string, request: InputRequest): ClientError {
  const kind = KIND_NAMES[kindOf(request)]
  const sentence = `${questionName(key)} is ${kind}, and there is no answerer for it; give one.`
  return new ClientError('QUESTION_UNANSWERED', sentence)
}

const KIND_NAMES: Readonly<Record<keyof Answerers, string>> = {
  form: 'a form',
  url: 'a page to visit',
  sampling: 'for a model',
  roots: 'for folders',
}

/** The fields of a server's form. Throws QUESTION_UNSUPPORTED where a required one is of a type that forms do not have. */
export function formFields(schema: unknown): readonly Field[] {
  return readFields(schema, (what) => {
    return new ClientError('QUESTION_UNSUPPORTED', `The server sent a form that ${what}; it cannot be shown.`)
  })
}
