/** The program `pannier`. One file per command; this one puts them together. Bad input ends with exit code 2. */
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { StateError } from '../state/index.ts'
import { InputError } from './inputError.ts'
import { keysCommand } from './keys.ts'
import { withoutSecrets } from './withoutSecrets.ts'

const BAD_INPUT = 2

const program = new Command('pannier')
  .description('Stateless MCP servers in which a tool can wait for a person, a model or long work.')
  .version(readVersion())
  .addCommand(keysCommand())

everyCommand(program).forEach((command) =>
  command.exitOverride().configureOutput({ outputError: (text, write) => write(withoutSecrets(text)) }),
)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeFor(error)
}

// From src/cli and from dist/cli alike, the manifest lies two folders up.
function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const version = typeof manifest === 'object' && manifest !== null && 'version' in manifest ? manifest.version : ''
  return String(version)
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** Says what went wrong, unless commander has said it, and gives the exit code. */
function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : BAD_INPUT
  if (!(error instanceof InputError || error instanceof StateError)) throw error
  console.error(`error: ${error.message}`)
  return BAD_INPUT
}
