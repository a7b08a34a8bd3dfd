import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import { createKeyring, type Inspected, inspectToken, type Keyring } from '../../state/seal/index.ts'
import { StateError } from '../../state/internal.ts'
import { InputError } from '../exit.ts'
import { readKeysValue } from './keys.ts'
import { resultAs, printableJson } from '../output/json.ts'
import { writeResult } from '../output/screen.ts'
import { plainLine } from '../../client/index.ts'
import { readJournal } from '../../journal/index.ts'
import { isObject } from '../../protocol/index.ts'
import { age, alignColumns } from '../output/layout.ts'

interface OpenFlags {
  readonly keysFile?: string
  readonly json?: true
}

/** `pannier state`: shows what a sealed state holds. It needs the keys, and asks no server. */
export function stateCommand(): Command {
  const state = new Command('state').description('See what a sealed state holds, with the keys that sealed it.')
  state
    .command('open')
    .description('Print what a state, a session id, an event id or the id of a pushed question holds.')
    .usage('[options] TOKEN\n       pannier state open [options] < FILE')
    .argument('[token]', 'what the server sent; without it, or with -, standard input is read')
    .option('--keys, --keys-file <path>', 'read the keys from a file, - for standard input (default: PANNIER_KEYS)')
    .option('--json', 'print JSON')
    .action(async (token: string | undefined, flags: OpenFlags) => writeResult(await openedText(token, flags)))
    .addHelpText('after', HELP)
  return state
}

const HELP = `
What it prints may be secret: answers of people, and results of steps. An expired state is shown, too.

Examples:
  pannier state open AQD… --keys-file .env
  PANNIER_KEYS=… pannier state open < state.txt`

async function openedText(given: string | undefined, { keysFile, json }: OpenFlags): Promise<string> {
  const isPiped = given === undefined || given === '-'
  if (isPiped && keysFile === '-') throw new InputError('Standard input can give the token or the keys, not both.')
  const keyring = createKeyring(await readKeysValue(keysFile))
  const opened = inspected(keyring, tokenIn(isPiped ? await text(process.stdin) : given))
  const now = Date.now()
  return resultAs(json, stateData(opened, now), () => stateText(opened, now))
}

/** Some states have the name of a row before them, and event ids a number after: the token is the longest part. */
function tokenIn(given: string): string {
  const parts = given.match(/[\w-]+/g) ?? []
  return parts.reduce((longest: string, part) => (part.length > longest.length ? part : longest), '')
}

function inspected(keyring: Keyring, token: string): Inspected {
  try {
    return inspectToken(keyring, token)
  } catch (error) {
    const sentence = error instanceof StateError ? SENTENCES[error.code] : undefined
    throw sentence === undefined ? error : new InputError(sentence, { cause: error })
  }
}

/** The library's sentences are for a client that sends a state back. */
const SENTENCES: Readonly<Partial<Record<string, string>>> = {
  STATE_MALFORMED: 'This is nothing that a server made with Pannier sealed; copy it whole, as the server sent it.',
  STATE_TAMPERED: 'This was changed after it was sealed, or cut when it was copied; copy it whole.',
}

const KINDS: Readonly<Record<Inspected['purpose'], string>> = {
  request: 'the state of a call that takes several rounds (requestState)',
  push: 'the state of a question in the session era',
  session: 'a session id',
  stream: 'the id of a stream in the session era',
  ticket: 'a ticket: the state of a call lies in the store of the server',
  question: 'the id of a question in the session era',
  instance: 'a message between two instances',
  link: 'a link to the page of a question',
  login: 'a login at the page of a question',
}

/** For people. */
function stateText(opened: Inspected, now: number): string {
  const { purpose, keyId, audience, binding, round, id, issuedAt, expiresAt } = opened
  const facts = [
    ['  key', keyId],
    ['  server', audience],
    ['  principal', binding.principal],
    ['  session', binding.session],
    ['  method', binding.method],
    ['  name', binding.name],
    ['  arguments', binding.argumentsDigest === undefined ? undefined : `${binding.argumentsDigest} (a digest)`],
    ['  round', String(round)],
    ['  id', id],
    ['  sealed', `${timeText(issuedAt)} (${age(now - issuedAt * 1000)} ago)`],
    ['  expires', `${timeText(expiresAt)} (${expiryText(expiresAt * 1000 - now)})`],
  ]
  const known = facts.flatMap(([name = '', value]) => (value === undefined ? [] : [[name, plainLine(value, Infinity)]]))
  return `This is ${KINDS[purpose]}.\n${alignColumns(known)}\nIt holds:\n${printableJson(contentOf(opened))}`
}

/** For programs. */
function stateData(opened: Inspected, now: number): object {
  const { issuedAt, expiresAt, body: _, ...claims } = opened
  const times = { issuedAt: timeText(issuedAt), expiresAt: timeText(expiresAt), expired: expiresAt * 1000 <= now }
  return { ...claims, ...times, content: contentOf(opened) }
}

/** The body with names in place of the letters and positions that save bytes. */
function contentOf({ purpose, body, id, round }: Inspected): unknown {
  switch (purpose) {
    case 'request':
      return journalOf(body, id, round)
    case 'push':
      return isObject(body) ? { ...body, journal: journalOf(body['journal'], id, round) } : body
    case 'session':
      return named(body, ['protocolVersion', 'client', 'capabilities', 'instance'])
    case 'stream':
      return named(body, ['request', 'instance'])
    case 'question':
      return { instance: body }
    case 'ticket':
    case 'instance':
    case 'link':
    case 'login':
      return body
    default:
      return purpose satisfies never
  }
}

/** The questions, answers and steps of a call. The SDK's adapter has a journal inside, or a state of the handler. */
function journalOf(body: unknown, id: string, round: number): unknown {
  if (!isObject(body) || 'p' in body) return body
  if ('j' in body) return { tool: body['t'], argumentsDigest: body['a'], journal: journalOf(body['j'], id, round) }
  const { answers, steps, open, own, begunAt } = readJournal(id, round, body)
  return {
    answers: byKey(answers, ({ response }) => response),
    steps: byKey(steps, ({ value }) => value),
    openQuestions: byKey(open, ({ times }) => ({ asked: times })),
    ...(own !== undefined && { requestState: own }),
    ...(begunAt !== undefined && { begunAt: timeText(begunAt) }),
  }
}

function byKey<Value>(map: ReadonlyMap<string, Value>, shown: (value: Value) => unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from(map, ([key, value]) => [key, shown(value) ?? null]))
}

function named(body: unknown, names: readonly string[]): unknown {
  return Array.isArray(body) ? Object.fromEntries(names.map((name, at) => [name, body[at] as unknown])) : body
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

function expiryText(leftMs: number): string {
  return leftMs > 0 ? `in ${age(leftMs)}` : `expired ${age(-leftMs)} ago`
}
