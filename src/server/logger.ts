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

  /** Warns of how the server is set up: in the log or, where there is none, once as a warning of the process. */
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
    const { isatty } = await import('node:tty')
    const format = isatty(destination) ? (await import('./terminalLog.ts')).terminalLine : escapeUnprintable
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
