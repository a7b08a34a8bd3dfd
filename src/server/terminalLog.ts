/** Log lines for people at a terminal: time, level, sentence, and the members that matter. Elsewhere lines are JSON. */
import { styleText } from 'node:util'
import { escapeUnprintable } from '../state/internal.ts'

const LEVELS: Readonly<Record<number, readonly [name: string, style: Parameters<typeof styleText>[0]]>> = {
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
const MAX_VALUE_CHARS = 120

/** One JSON line of pino, as a line for a terminal. What is no such line stays as it is. */
export function terminalLine(json: string, style: typeof styleText = styled): string {
  let entry: Record<string, unknown>
  try {
    entry = JSON.parse(json) as Record<string, unknown>
  } catch {
    return json
  }
  const [level, color] = LEVELS[Number(entry['level'])] ?? ['     ', 'dim']
  const time = new Date(Number(entry['time'])).toTimeString().slice(0, 8)
  const members = Object.entries(entry)
    .filter(([name]) => !ELSEWHERE.has(name))
    .slice(0, MAX_MEMBERS)
    .map(([name, value]) => style('dim', `${oneLine(name)}=${shown(value)}`))
  const head = [style('dim', time), style(color, level), shown(entry['msg'] ?? '', Infinity), ...members].join(' ')
  return `${head}\n${errorLines(entry['err'])}`
}

function shown(value: unknown, maxChars = MAX_VALUE_CHARS): string {
  const text = oneLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}…`
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

/** Colours where the terminal shows them and NO_COLOR does not forbid them. */
const styled: typeof styleText = (format, text) => styleText(format, text, { stream: process.stderr })
