/** What the demo prints. Plain text unless standard output is a terminal that shows colours and NO_COLOR is not set. */
import { stripVTControlCharacters, styleText } from 'node:util'
import type { AnswerMessage, FormRequest, RequestMessage } from './wire.ts'

const colourful = process.stdout.isTTY && !process.env['NO_COLOR'] && process.stdout.hasColors()

const NO_STATE = 'none: this question is not pinned (pin: false), and there is nothing else to remember yet'

type Style = Parameters<typeof styleText>[0]

function paint(style: Style, text: string): string {
  return colourful ? styleText(style, text, { validateStream: false }) : text
}

export function say(text = ''): void {
  console.log(
    process.stdout.isTTY
      ? text
          .split('\n')
          .map((line) => wrapped(line, process.stdout.columns))
          .join('\n')
      : text,
  )
}

/** Breaks a line at spaces; what follows is indented as the line is. */
export function wrapped(line: string, columns: number): string {
  const indent = /^ */.exec(line)?.[0] ?? ''
  const lines: string[] = []
  let rest = line
  while (stripVTControlCharacters(rest).length > columns) {
    const at = rest.lastIndexOf(' ', columns)
    if (at <= indent.length) break
    lines.push(rest.slice(0, at))
    rest = `${indent}  ${rest.slice(at + 1)}`
  }
  return [...lines, rest].join('\n')
}

export function headline(text: string): void {
  say(paint('bold', text))
}

export function note(text: string): void {
  say(paint('dim', text))
}

/** Prints what happens to a process. */
export function event(text: string): void {
  say(paint(['bold', 'red'], text))
}

export function instanceName(name: string): string {
  return paint(['bold', 'cyan'], name)
}

/** Prints a message in a few lines: its members under their names on the wire, shortened. */
export function showRequest({ id, method, params }: RequestMessage): void {
  const { name, arguments: args, inputResponses = {}, requestState } = params
  row('request', `${method} ${name}, id ${id}`)
  row('', `arguments       ${json(args)}`)
  for (const [key, response] of Object.entries(inputResponses as object)) {
    row('', `inputResponses  ${key}: ${json(response)}`)
  }
  if (typeof requestState === 'string') row('', `requestState    ${shortState(requestState)}`)
}

export function showAnswer({ id, result, error }: AnswerMessage, servedBy: string): void {
  const served = `id ${id}, served by instance ${instanceName(servedBy)}`
  if (result === undefined) return row('answer', `error ${error?.code}, ${served}: ${error?.message}`)
  row('answer', `${result.resultType}, ${served}`)
  for (const { text } of result.content ?? []) row('', `content         ${text}`)
  for (const [key, form] of Object.entries(result.inputRequests ?? {})) showForm(key, form)
  if (result.resultType === 'input_required') {
    row('', `requestState    ${result.requestState === undefined ? NO_STATE : shortState(result.requestState)}`)
  }
}

function showForm(key: string, { params: { message, requestedSchema } }: FormRequest): void {
  row('', `inputRequests   ${key}: ${message}`)
  for (const [name, { type, enum: choices }] of Object.entries(requestedSchema.properties)) {
    row('', `                field ${name}: ${choices === undefined ? type : choices.join(' | ')}`)
  }
}

function row(label: string, text: string): void {
  say(`  ${paint('dim', label.padEnd(9))}${text}`)
}

/** A state is not printed whole; its length and first characters are enough to tell it from another. */
function shortState(state: string): string {
  return `${state.slice(0, 12)}… (${state.length} characters, sealed)`
}

/** JSON on one line, with a space after each colon and comma. */
function json(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(json).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${json(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
