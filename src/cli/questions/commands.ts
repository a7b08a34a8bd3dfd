/** `pannier questions` and `pannier answer`: the questions of a server, for people without an MCP client. */
import { Command, Option } from 'commander'
import { ClientError, expandVariables, plainLine } from '../../client/index.ts'
import { isObject, type Json, parseJson } from '../../protocol/index.ts'
import { EXIT, EXIT_HELP, InputError } from '../exit.ts'
import { typedArguments } from '../options/arguments.ts'
import { type ClientFlags, collect, readBearer, readHeaders, withCredentialOptions } from '../options/client.ts'
import { resultAs } from '../output/json.ts'
import { age, alignColumns, serverText } from '../output/layout.ts'
import { runCommand } from '../runCommand.ts'

type QuestionFlags = Pick<ClientFlags, 'header' | 'bearerEnv' | 'output'>

interface ListFlags extends QuestionFlags {
  readonly server?: string
  readonly tool?: string
  readonly olderThan?: string
}

interface OneAnswerFlags extends QuestionFlags {
  readonly answer?: readonly string[]
  readonly decline?: boolean
}

/** The list ends here also if the server always names another page. */
const MAX_PAGES = 1000

/** `pannier questions`: lists what this person may answer. */
export function questionsCommand(): Command {
  const command = new Command('questions')
    .description('List the questions of a server that you may answer.')
    .argument('<url>', 'the endpoint of the server')
    .option('--server <name>', 'only those of this server, behind a gateway')
    .option('--tool <name>', 'only those of this tool')
    .option('--older-than <minutes>', 'only those that have waited for this long')
    .action((url: string, flags: ListFlags) =>
      runCommand(async ({ display, signal }) => {
        const questions = await allQuestions(url, flags, signal)
        if (questions.length === 0 && flags.output === 'text') display.note('Nothing waits for you.')
        else display.print(resultAs(flags.output === 'json', { questions }, () => questionLines(questions)))
        return EXIT.ok
      }),
    )
    .addHelpText('after', EXIT_HELP)
  return withOutput(command)
}

/** `pannier answer`: answers one of them. */
export function answerCommand(): Command {
  const command = new Command('answer')
    .description('Answer a question of a server, which "pannier questions" lists.')
    .argument('<url>', 'the endpoint of the server')
    .argument('<id>', 'the id of the question')
    .option('--answer <field=value>', 'a field of the form, typed by its schema (repeatable)', collect)
    .option('--decline', 'say no')
    .action((url: string, id: string, flags: OneAnswerFlags) =>
      runCommand(async ({ display, signal }) => {
        if ((flags.answer === undefined) === (flags.decline !== true))
          throw new InputError('Give --answer field=value, or --decline.')
        const at = `${withoutSlash(url)}/questions/${encodeURIComponent(id)}`
        const question = await request(at, flags, signal)
        const schema = isObject(question['requestedSchema']) ? question['requestedSchema'] : {}
        const words = { option: '--answer', asker: 'form', member: 'field' }
        const content = () => typedArguments(flags.answer ?? [], { additionalProperties: false, ...schema }, words)
        const answer = flags.decline ? { action: 'decline' } : { action: 'accept', content: content() }
        const answered = await request(at, flags, signal, answer)
        display.note(plainLine(String(answered['sentence']), 500))
        return EXIT.ok
      }),
    )
    .addHelpText('after', EXIT_HELP)
  return withOutput(command)
}

function withOutput(command: Command): Command {
  const output = new Option('--output <form>', 'text for people, json for programs').choices(['text', 'json'])
  return withCredentialOptions(command).optionsGroup('Showing:').addOption(output.default('text'))
}

async function allQuestions(url: string, flags: ListFlags, signal: AbortSignal): Promise<Json[]> {
  const { server, tool, olderThan } = flags
  const query = new URLSearchParams({ ...(server && { server }), ...(tool && { tool }) })
  if (olderThan !== undefined) query.set('olderThanMs', String(minutesMs(olderThan)))
  const found: Json[] = []
  for (let page = 0; page < MAX_PAGES; page++) {
    const { questions, nextCursor } = await request(`${withoutSlash(url)}/questions?${query}`, flags, signal)
    if (Array.isArray(questions)) found.push(...questions.filter(isObject))
    if (typeof nextCursor !== 'string') break
    query.set('cursor', nextCursor)
  }
  return found
}

function minutesMs(text: string): number {
  const ms = Math.round(Number(text) * 60_000)
  if (ms >= 1 && Number.isSafeInteger(ms)) return ms
  throw new InputError('--older-than takes a number of minutes above 0.')
}

async function request(url: string, flags: QuestionFlags, signal: AbortSignal, answer?: Json): Promise<Json> {
  if (!/^https?:/.test(url) || !URL.canParse(url)) throw new InputError('Give the http or https address of a server.')
  const { header = [], bearerEnv } = flags
  const headers: Record<string, string> = {
    ...readHeaders(header, (value) => expandVariables(value, { env: process.env, places: {} }, '--header')),
    ...(bearerEnv !== undefined && { authorization: `Bearer ${readBearer(bearerEnv, process.env)}` }),
    ...(answer && { 'content-type': 'application/json' }),
  }
  const init = answer && { method: 'POST', body: JSON.stringify(answer) }
  // Credentials are for this server alone.
  const response = await fetch(url, { headers, signal, redirect: 'error', ...init }).catch((cause: unknown) => {
    signal.throwIfAborted()
    throw new ClientError('CONNECT_FAILED', 'The server cannot be reached.', { cause })
  })
  const body = parseJson(await response.text())
  if (response.ok && isObject(body)) return body
  throw refused(response.status, body)
}

function refused(status: number, body: unknown): ClientError {
  const error = isObject(body) && isObject(body['error']) ? body['error']['message'] : undefined
  const said = typeof error === 'string' ? ` ${serverText(error)}` : ''
  if (status === 401 || status === 403)
    return new ClientError(
      'AUTHORIZATION_FAILED',
      `The server does not know you; give --bearer-env or --header.${said}`,
    )
  if (error === undefined)
    return new ClientError('MESSAGE_UNREADABLE', `The server has no list of questions (${status}).`)
  return new ClientError('ANSWER_FAILED', `The server answered with ${status}:${said}`)
}

function questionLines(questions: readonly Json[]): string {
  return questions
    .map(({ id, tool, caller, message, requestedSchema, askedAt, url }) => {
      const schema = isObject(requestedSchema) ? requestedSchema : {}
      const fields = isObject(schema['properties']) ? Object.keys(schema['properties']) : []
      const rows = [
        ['asks', `${text(tool)}${typeof caller === 'string' ? `, called by ${text(caller)}` : ''}`],
        ['waits', age(Date.now() - Number(askedAt))],
        ['fields', fields.map((field) => plainLine(field, 60)).join(', ')],
        ...(typeof url === 'string' ? [['page', plainLine(url, 4000)]] : []),
      ]
      return `${plainLine(String(id), 400)}\n${serverText(text(message))}\n${alignColumns(rows)}`
    })
    .join('\n\n')
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}
