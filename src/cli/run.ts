/** Where a command works: what it says, what interrupts it, and how it ends. */
import { EXIT, type ExitCode, failureOf } from './exit.ts'
import { createDisplay, type Display } from './output/display.ts'

/** What every command has before there is a connection. */
export interface Desk {
  readonly display: Display
  readonly signal: AbortSignal
  /** As if the user had pressed Ctrl-C. */
  interrupt(): void
}

interface DeskOptions {
  /** What is said when the user interrupts it. @default 'Cancelled.' */
  interrupted?: string
}

/** Runs a command to its end, and sets the exit code. */
export async function atDesk(
  work: (desk: Desk) => Promise<ExitCode>,
  { interrupted = 'Cancelled.' }: DeskOptions = {},
): Promise<void> {
  const display = createDisplay()
  const interrupt = watchInterrupt()
  try {
    process.exitCode = await work({ display, signal: interrupt.signal, interrupt: interrupt.interrupt })
  } catch (error) {
    if (interrupt.exitCode !== undefined) display.note(interrupted)
    process.exitCode = interrupt.exitCode ?? saidFailure(error, display)
  } finally {
    interrupt.release()
    display.end()
  }
}

function saidFailure(error: unknown, display: Display): ExitCode {
  const failure = failureOf(error)
  if (failure === undefined) throw error
  display.note(`error: ${failure.text}`)
  return failure.exitCode
}

/** Ctrl-C, and being asked to end: the first time what runs is cancelled, the second time the program goes at once. */

interface Interrupt {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal
  /** The exit code, once a signal came. */
  readonly exitCode: typeof EXIT.interrupted | typeof EXIT.terminated | undefined
  /** The same as the signal that Ctrl-C sends; a form takes that key for itself. */
  interrupt(): void
  /** The signals do again what they did before. */
  release(): void
}

function watchInterrupt(): Interrupt {
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
