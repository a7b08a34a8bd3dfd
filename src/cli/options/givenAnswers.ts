/** Answers to the open questions of a task, as the command line gives them: field by field, or as JSON by key. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type Given, plainLine } from '../../client/index.ts'
import { isObject, type Json } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'
import { readInputFile } from './input.ts'
import { splitPair, typedArguments } from './arguments.ts'

export interface GivenFlags {
  readonly answer?: readonly string[]
  readonly json?: string
}

type Questions = Readonly<Record<string, InputRequest>>

const OPTION = '--answer'
const WORDING = { option: OPTION, asker: 'form', member: 'field' }
const ACTIONS: ReadonlySet<string> = new Set(['accept', 'decline', 'cancel'])

export async function readGivenAnswers(
  { answer = [], json }: GivenFlags,
  questions: Questions,
  signal: AbortSignal,
): Promise<Readonly<Record<string, Given>>> {
  return { ...(json !== undefined && (await readJson(json, signal))), ...answersFrom(answer, questions) }
}

/** Pairs by the question they are for. */
export function answersFrom(pairs: readonly string[], questions: Questions): Readonly<Record<string, Given>> {
  const fields = new Map<string, string[]>()
  const actions = new Map<string, Given>()
  for (const pair of pairs) {
    const [name, value] = splitPair(pair, OPTION)
    if (Object.hasOwn(questions, name) && ACTIONS.has(value)) {
      actions.set(name, value as Given)
      continue
    }
    const [key, field] = placeOf(name, Object.keys(questions))
    fields.set(key, [...(fields.get(key) ?? []), `${field}=${value}`])
  }
  const contents = [...fields].map(([key, of]) => [key, typedArguments(of, schemaOf(questions[key]), WORDING)] as const)
  return { ...Object.fromEntries(contents), ...Object.fromEntries(actions) }
}

/** `question.field`; with one question its name may be left out. The longest name counts: keys may hold dots. */
function placeOf(name: string, keys: readonly string[]): readonly [key: string, field: string] {
  const named = keys.filter((key) => name.startsWith(`${key}.`)).toSorted((a, b) => b.length - a.length)
  const [key] = named
  if (key !== undefined) return [key, name.slice(key.length + 1)]
  const [only] = keys
  if (only !== undefined && keys.length === 1) return [only, name]
  const listed = keys.map((each) => plainLine(each, 60)).join(', ')
  const asks = keys.length === 0 ? 'The task asks nothing now.' : `The task asks ${listed}; write QUESTION.FIELD=VALUE.`
  throw new InputError(`${OPTION} ${name}: ${asks}`)
}

function schemaOf(request: InputRequest | undefined): Json {
  const params: unknown = request?.params
  const schema = isObject(params) ? params['requestedSchema'] : undefined
  return { ...(isObject(schema) ? schema : {}), additionalProperties: false }
}

/** Answers may be secret, so nothing of them is in an error. */
async function readJson(json: string, signal: AbortSignal): Promise<Readonly<Record<string, Given>>> {
  const isFile = json === '-' || json.startsWith('@')
  const answers = parsed(isFile ? await readInputFile(json.replace(/^@/, ''), '--json', signal) : json)
  if (!isObject(answers)) throw new InputError('--json takes a JSON object of answers by their keys.')
  const isGiven = (value: unknown): boolean => isObject(value) || ACTIONS.has(String(value))
  const odd = Object.keys(answers).find((key) => !isGiven(answers[key]))
  if (odd === undefined) return answers as Readonly<Record<string, Given>>
  throw new InputError(`--json: the answer "${plainLine(odd, 60)}" must be an object, "accept", "decline" or "cancel".`)
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    return undefined
  }
}
