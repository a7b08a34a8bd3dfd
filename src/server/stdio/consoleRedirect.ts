/**
 * Standard output carries the messages of the protocol, and a line of anything else is lost or breaks the connection.
 * So console output of a program goes to standard error while it serves stdio.
 */
import type { LoggerSlot } from '../logger.ts'

const TO_STDOUT = ['log', 'info', 'debug', 'dir'] as const

const NOTE =
  'console.log writes to standard error on stdio, because standard output carries the messages. Use console.error.'

/** Redirects the console while `serve` runs, and says so when it is first used. */
export async function withRedirectedConsole(logger: LoggerSlot, serve: () => Promise<void>): Promise<void> {
  const before = TO_STDOUT.map((name) => [name, console[name]] as const)
  let isSaid = false
  const write = (...values: unknown[]): void => {
    if (!isSaid) logger.warnOfSetup('CONSOLE_ON_STDIO', NOTE)
    isSaid = true
    // oxlint-disable-next-line no-console -- it is what the program writes
    console.error(...values)
  }
  // Methods such as `table` and `group` use `log`.
  for (const name of TO_STDOUT) console[name] = name === 'dir' ? (value) => write(value) : write
  try {
    await serve()
  } finally {
    for (const [name, method] of before) console[name] = method
  }
}
