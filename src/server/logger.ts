import { writeSync } from 'node:fs'
import type { Logger } from '../protocol/index.ts'
import { escapeUnprintable } from '../state/internal.ts'

export { errorDetails, type Logger, shortened } from '../protocol/index.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** The codes of the warnings that this process has given. */
const warned = new Set<string>()

/** Holds the logger. A host that starts the server may set its default once. */
export class LoggerSlot {
  #logger: Logger | undefined

  constructor(logger: Logger | undefined) {
    this.#logger = logger
  }

  get current(): Logger {
    return this.#logger ?? silent
  }

  /** Warns about the configuration: in the log, or without a log once as a warning of the process. */
  warnOfSetup(code: string, sentence: string): void {
    this.current.warn({}, sentence)
    if (this.#logger !== undefined || warned.has(code)) return
    warned.add(code)
    process.emitWarning?.(sentence, { type: 'PannierWarning', code })
  }

  /** Uses pino, unless the author of the server has chosen a logger. */
  async defaultToPino(destination: 1 | 2): Promise<void> {
    if (this.#logger !== undefined) return
    const { pino } = await import('pino')
    const level = process.env['PANNIER_LOG_LEVEL'] || 'info'
    if (level !== 'silent' && !Object.hasOwn(pino.levels.values, level)) throw new TypeError(WRONG_LEVEL)
    // `err` is already plain details (errorDetails); pino's own serializer would report only that it is an object.
    const serializers = { err: (details: unknown) => details }
    const format = await formatFor(destination)
    const write = (line: string): void => writeLine(destination, format(line))
    this.#logger = pino({ name: 'pannier', level, serializers }, { write })
  }
}

const WRONG_LEVEL = 'PANNIER_LOG_LEVEL must be trace, debug, info, warn, error, fatal or silent.'

/**
 * Others choose names and messages that are logged, and a log is looked at in terminals. The reader of the log may have
 * closed it: the server must neither fail by that, nor wait for it at its end.
 */
function writeLine(destination: 1 | 2, line: string): void {
  try {
    writeSync(destination, line)
  } catch {
    // There is no other place to report it.
  }
}

/** Lines for people at a terminal, JSON elsewhere. */
async function formatFor(destination: 1 | 2): Promise<(line: string) => string> {
  const { isatty } = await import('node:tty')
  if (!isatty(destination)) return escapeUnprintable
  const { styleText } = await import('node:util')
  const stream = destination === 1 ? process.stdout : process.stderr
  return (line) => terminalLine(line, (color, text) => styleText(color, text, { stream }))
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
/** What is the same in every line of a process, or has a place of its own. */
const ELSEWHERE = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'err'])
const MAX_MEMBERS = 4
/** Each reason is a sentence that says what to do. */
const MAX_VALUE_CHARS = 400
const MAX_LIST_CHARS = 120

/** One JSON line of pino, as a line for a terminal. What is no such line stays as it is. */
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

/** Such as what a program printed: its reason may be in any line. */
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

/** Servers and clients choose texts that are logged: none may move the cursor, or look like a line of its own. */
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
