/** Runs the program `pannier`, and ends with exit code 2 on invalid input. */
import { CommanderError } from 'commander'
import { ClientError } from '../client/index.ts'
import { StateError } from '../state/internal.ts'
import { EXIT, InputError } from './exit.ts'
import { splitCommand } from './options/operands.ts'
import { redirectConsole, writeNote } from './output/screen.ts'
import { createProgram } from './program.ts'

redirectConsole()
// The reader of the output may close the pipe, as `head` does.
process.stdout.on('error', () => process.exit())
// Where stderr is closed, notes are lost and the command goes on.
process.stderr.on('error', () => undefined)
// Only a fault of this program gets here. Node would print the message as it is, and it may quote a server.
process.on('uncaughtException', (error: unknown) => {
  writeNote(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exit(1)
})

const { own, command: server } = splitCommand(process.argv.slice(2))

try {
  await createProgram(server).parseAsync(own, { from: 'user' })
} catch (error) {
  process.exitCode = exitCodeFor(error)
}

/** Shows the error, unless commander has shown it, and gives the exit code. */
function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.badInput
  if (!(error instanceof InputError || error instanceof StateError || error instanceof ClientError)) throw error
  writeNote(`error: ${error.message}`)
  return EXIT.badInput
}
