/**
 * The default log of `listen` and `stdio`, on standard error: formatted lines at a terminal, elsewhere lines of JSON with
 * the members that pino writes, so that tools which read logs of pino read these.
 */
import { writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { isatty } from 'node:tty'
import { styleText } from 'node:util'
import type { Logger } from '../../protocol/index.ts'
import { escapeUnprintable } from '../../state/internal.ts'

const STANDARD_ERROR = 2

/** The numbers that pino gives the levels. */
const LEVEL_NUMBERS: ReadonlyMap<string, number> = new Map([
  ['trace', 10],
  ['debug', 20],
  ['info', 30],
  ['warn', 40],
  ['error', 50],
  ['fatal', 60],
  ['silent', Infinity],
])

/** Writes entries from the level of `PANNIER_LOG_LEVEL` up. */
export function lineLogger(): Logger {
  const lowest = LEVEL_NUMBERS.get(process.env['PANNIER_LOG_LEVEL'] || 'info')
  if (lowest === undefined) throw new TypeError(WRONG_LEVEL)
  const format = formatForStandardError()
  const origin = { pid: process.pid, hostname: hostname(), name: 'pannier' }
  const at = (level: number): Logger['info'] => {
    if (level < lowest) return () => {}
    return (details, msg) => writeLine(format(`${textOf({ level, time: Date.now(), ...origin, ...details, msg })}\n`))
  }
  return { debug: at(20), info: at(30), warn: at(40), error: at(50) }
}

const WRONG_LEVEL = 'PANNIER_LOG_LEVEL must be trace, debug, info, warn, error, fatal or silent.'

function textOf(entry: object): string {
  return JSON.stringify(entry, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

/**
 * Others choose names and messages that are logged, and a log is looked at in terminals. The reader of the log may have
 * closed it. The server must neither fail, nor wait for the reader when it ends.
 */
function writeLine(line: string): void {
  try {
    writeSync(STANDARD_ERROR, line)
  } catch {
    // There is no other place to report it.
  }
}

/** Lines for people at a terminal, JSON elsewhere. */
function formatForStandardError(): (line: string) => string {
  if (!isatty(STANDARD_ERROR)) return escapeUnprintable
  return (line) => terminalLine(line, (color, text) => styleText(color, text, { stream: process.stderr }))
}

type Style = (color: Color, text: string) => string
type Color = 'dim' | 'green' | 'yellow' | 'red'

const LEVELS: Readonly<Record<number, readonly [name: string, style: Color]>> = {
  10: ['TRACE', 'dim'],
  20: ['DEBUG', 'dim'],
  30: ['INFO ', 'green'],
  40: ['WARN ', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'red'],
}
/** Members that are the same in every line of a process, or are shown elsewhere. */
const ELSEWHERE = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'err'])
const MAX_MEMBERS = 4
/** Each reason is a sentence that says what to do. */
const MAX_VALUE_CHARS = 400
const MAX_LIST_CHARS = 120

/** One JSON line of pino, as a line for a terminal. Other lines stay unchanged. */
export function terminalLine(json: string, style: Style): string {
  let entry: Record<string, unknown>
  try {
    entry = JSON.parse(json) as Record<string, unknown>
  } catch {
    return escapeUnprintable(json)
  }
  const [level, color] = LEVELS[Number(entry['level'])] ?? ['     ', 'dim']
  const time = new Date(Number(entry['time'])).toTimeString().slice(0, 8)
  const members = Object.entries(entry)
    .filter(([name]) => !ELSEWHERE.has(name))
    .slice(0, MAX_MEMBERS)
  const short = members.filter(([, value]) => !isLongList(value))
  const shownShort = short.map(([name, value]) => style('dim', `${oneLine(name)}=${shown(value)}`))
  const sentence = typeof entry['msg'] === 'string' ? oneLine(entry['msg']) : ''
  const head = [style('dim', time), style(color, level), sentence, ...shownShort].join(' ')
  return `${head}\n${members.map(listLines).join('')}${errorLines(entry['err'])}`
}

/** For example output of a program: the reason may be in any line. */
function isLongList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && JSON.stringify(value).length > MAX_LIST_CHARS
}

function listLines([name, value]: [string, unknown]): string {
  if (!isLongList(value)) return ''
  const lines = value.map((each) => oneLine(typeof each === 'string' ? each : JSON.stringify(each)))
  return [`    ${oneLine(name)}:`, ...lines.map((line) => `      ${line}`), ''].join('\n')
}

/** A text with spaces has quotation marks, which show where it ends. */
function shown(value: unknown): string {
  const isWord = typeof value === 'string' && !/\s/.test(value)
  const text = oneLine(isWord ? value : (JSON.stringify(value) ?? ''))
  return text.length <= MAX_VALUE_CHARS ? text : `${text.slice(0, MAX_VALUE_CHARS)}…`
}

/**
 * Servers and clients choose some logged texts. Such a text must not move the cursor or look like a separate log line.
 */
function oneLine(text: string): string {
  return escapeUnprintable(text).replaceAll('\n', '\\n')
}

/** The stack begins with the class and the message of the error. */
function errorLines(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { type, message, stack, cause } = error as Record<string, unknown>
  const text = typeof stack === 'string' ? stack : [type, message].filter(Boolean).join(': ')
  return `${escapeUnprintable(text).replace(/^/gm, '    ')}\n${cause === undefined ? '' : `    because of\n${errorLines(cause)}`}`
}
