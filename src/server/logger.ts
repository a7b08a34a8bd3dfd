import { host, type Logger } from '../protocol/index.ts'

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
    host?.emitWarning?.(sentence, { type: 'PannierWarning', code })
  }

  /** Uses this logger, unless the author of the server has chosen one. */
  defaultTo(logger: () => Logger): void {
    this.#logger ??= logger()
  }
}
