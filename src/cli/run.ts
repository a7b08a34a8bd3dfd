/** Where a command works: what it says, what interrupts it, and how it ends. */
import { createDisplay, type Display } from './output/display.ts'
import type { ExitCode } from './exit.ts'
import { failureOf } from './failure.ts'
import { watchInterrupt } from './interrupt.ts'

/** What every command has before there is a connection. */
export interface Desk {
  readonly display: Display
  readonly signal: AbortSignal
  /** As if the user had pressed Ctrl-C. */
  interrupt(): void
}

export interface DeskOptions {
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
