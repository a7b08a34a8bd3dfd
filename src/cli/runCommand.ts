/** The command runner: operands, output, interruption and exit code of a command. */
import type { Command } from 'commander'
import { EXIT, type ExitCode, failureOf } from './exit.ts'
import { readTargetOperands, type TargetOperands } from './options/operands.ts'
import { createDisplay, type Display } from './output/display.ts'

/** The input of every command. */
export interface CommandContext {
  readonly display: Display
  readonly signal: AbortSignal
  /** Has the effect of Ctrl-C. */
  interrupt(): void
}

interface CommandOptions {
  /** Shown when the user interrupts the command. @default 'Cancelled.' */
  interrupted?: string
  /** What SIGHUP does. @default it ends the command */
  onHangup?: () => void
}

/** Runs a command to its end, and sets the exit code. */
export async function runCommand(
  work: (context: CommandContext) => Promise<ExitCode>,
  { interrupted = 'Cancelled.', onHangup }: CommandOptions = {},
): Promise<void> {
  const display = createDisplay()
  const interrupt = watchInterrupt(onHangup)
  try {
    process.exitCode = await work({ display, signal: interrupt.signal, interrupt: interrupt.interrupt })
  } catch (error) {
    if (interrupt.exitCode !== undefined) display.note(interrupted)
    process.exitCode = interrupt.exitCode ?? showFailure(error, display)
  } finally {
    interrupt.release()
    display.end()
  }
}

interface TargetOptions extends CommandOptions {
  /** The server's command after `--`, where it was given. */
  readonly server: readonly string[] | undefined
  /** The operands after TARGET. @default none */
  readonly names?: readonly string[]
  /** The words after `pannier`. @default the name of the command */
  readonly path?: string
}

/** Runs a command at TARGET, which is its first operand or a command after `--`. */
export function runAtTarget<Flags>(
  command: Command,
  { server, names = [], path = command.name(), ...options }: TargetOptions,
  work: (at: TargetOperands, flags: Flags, context: CommandContext) => Promise<ExitCode>,
): Command {
  const operands = ['[options]', ...names].join(' ')
  return command
    .usage(`${['[options] TARGET', ...names].join(' ')}\n       pannier ${path} ${operands} -- COMMAND …`)
    .argument('[operands...]')
    .action((given: string[], flags: Flags) =>
      runCommand((context) => work(readTargetOperands(given, server, names), flags, context), options),
    )
}

function showFailure(error: unknown, display: Display): ExitCode {
  const failure = failureOf(error)
  if (failure === undefined) throw error
  display.note(`error: ${failure.text}`)
  return failure.exitCode
}

/** SIGINT, SIGTERM and SIGHUP: the first signal cancels the work, the second ends the process at once. */
interface Interrupt {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal
  /** The exit code, once a signal has come. */
  readonly exitCode: typeof EXIT.interrupted | typeof EXIT.terminated | undefined
  /** Has the effect of SIGINT. A form reads Ctrl-C as a key, so no signal is sent then. */
  interrupt(): void
  /** Restores the default handling of signals. */
  release(): void
}

function watchInterrupt(onHangup?: () => void): Interrupt {
  const abort = new AbortController()
  let exitCode: Interrupt['exitCode']
  const onSignal = (name: NodeJS.Signals): void => {
    if (name === 'SIGHUP' && onHangup !== undefined) return onHangup()
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

/** Resolves when the user interrupts the command. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
