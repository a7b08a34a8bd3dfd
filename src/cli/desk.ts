/** Where a command works: what it says, what interrupts it, and how it ends. */
import { createDisplay, type Display } from './display.ts'
import type { ExitCode } from './exitCodes.ts'
import { failureOf } from './failure.ts'
import { type Interrupt, watchInterrupt } from './interrupt.ts'

/** What every command has before there is a connection. */
export interface Desk {
  readonly display: Display
  readonly signal: AbortSignal
}

/** Runs a command to its end, and sets the exit code. */
export async function atDesk(work: (desk: Desk) => Promise<ExitCode>): Promise<void> {
  const display = createDisplay()
  const interrupt = watchInterrupt()
  try {
    process.exitCode = await work({ display, signal: interrupt.signal })
  } catch (error) {
    process.exitCode = saidFailure(error, display, interrupt)
  } finally {
    interrupt.release()
    display.end()
  }
}

function saidFailure(error: unknown, display: Display, interrupt: Interrupt): ExitCode {
  if (interrupt.exitCode !== undefined) {
    display.note('Cancelled.')
    return interrupt.exitCode
  }
  const failure = failureOf(error)
  if (failure === undefined) throw error
  display.note(`error: ${failure.text}`)
  return failure.exitCode
}
