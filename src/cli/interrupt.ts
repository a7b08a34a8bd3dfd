/** Ctrl-C, and being asked to end: the first time what runs is cancelled, the second time the program goes at once. */
import { EXIT } from './exit.ts'

export interface Interrupt {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal
  /** The exit code, once a signal came. */
  readonly exitCode: typeof EXIT.interrupted | typeof EXIT.terminated | undefined
  /** The same as the signal that Ctrl-C sends; a form takes that key for itself. */
  interrupt(): void
  /** The signals do again what they did before. */
  release(): void
}

export function watchInterrupt(): Interrupt {
  const abort = new AbortController()
  let exitCode: Interrupt['exitCode']
  const onSignal = (name: NodeJS.Signals): void => {
    const code = name === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
    if (exitCode !== undefined) process.exit(code)
    exitCode = code
    abort.abort(new Interrupted())
  }
  for (const name of SIGNALS) process.on(name, onSignal)
  return {
    signal: abort.signal,
    get exitCode() {
      return exitCode
    },
    interrupt: () => onSignal('SIGINT'),
    release: () => {
      for (const name of SIGNALS) process.off(name, onSignal)
    },
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

class Interrupted extends Error {
  override readonly name = 'Interrupted'

  constructor() {
    super('Interrupted by the user.')
  }
}
