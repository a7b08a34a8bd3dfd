/** The process of the program `pannier`. */
import { redirectConsole, writeNote } from './output/screen.ts'
import { runProgram } from './program.ts'

redirectConsole()
// The reader of the output may close the pipe, as `head` does.
process.stdout.on('error', () => process.exit())
// Where stderr is closed, notes are lost and the command continues.
process.stderr.on('error', () => undefined)
// Only a fault of this program gets here. Node would print the message as it is, and it may quote a server.
process.on('uncaughtException', (error: unknown) => {
  writeNote(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exit(1)
})

await runProgram(process.argv.slice(2))
// A connection that another process holds open keeps this one no longer. Output that was printed earlier is flushed
// first.
await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))))
process.exit()
