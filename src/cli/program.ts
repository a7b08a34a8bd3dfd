/** The program `pannier` as a tree of commands. */
import { Command, CommanderError } from 'commander'
import { ClientError, plainText } from '../client/index.ts'
import { StateError } from '../state/internal.ts'
import { auditCommand } from './commands/audit.ts'
import { callCommand, promptCommand, readCommand } from './commands/calls.ts'
import { devCommand } from './commands/dev.ts'
import { gatewayCommand } from './commands/gateway.ts'
import { jarCommand } from './commands/jar.ts'
import { loginCommand } from './commands/login.ts'
import { keysCommand } from './commands/keys.ts'
import { probeCommand } from './commands/probe.ts'
import { promptsCommand, resourcesCommand, toolsCommand } from './commands/lists.ts'
import { resumeCommand } from './commands/resume.ts'
import { stateCommand } from './commands/state.ts'
import { taskCommand } from './commands/task.ts'
import { EXIT, InputError } from './exit.ts'
import { splitCommand } from './options/operands.ts'
import { writeNote } from './output/screen.ts'
import { readVersion } from './connection.ts'

const EXAMPLES = `
Examples:
  pannier tools https://example.com/mcp
  pannier call https://example.com/mcp add --arg a=1 --arg b=2
  pannier call .vscode/mcp.json#files search --arg query=todo
  pannier call deploy --suspend deploy.json -- node server.js
  pannier resume deploy.json --answers answers.json
  pannier task watch https://example.com/mcp "$(pannier call https://example.com/mcp report --detach)"
  pannier probe .vscode/mcp.json`

/** Runs a command line, given as the words after `pannier`, and sets the exit code, which is 2 for invalid input. */
export async function runProgram(words: readonly string[]): Promise<void> {
  const { own, command: server } = splitCommand(words)
  try {
    await createProgram(server).parseAsync(own, { from: 'user' })
  } catch (error) {
    process.exitCode = exitCodeFor(error)
  }
}

/** Shows the error, unless commander has shown it, and gives the exit code. */
function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.badInput
  if (!(error instanceof InputError || error instanceof StateError || error instanceof ClientError)) throw error
  writeNote(`error: ${error.message}`)
  return EXIT.badInput
}

/** @param server The server's command after `--`, where it was given. */
export function createProgram(server: readonly string[] | undefined): Command {
  const program = new Command('pannier')
    .description(
      'Stateless MCP servers in which a tool can wait for a person, a model or long work; and a client for any.',
    )
    .version(readVersion())
    .helpCommand(false)
    .usage('COMMAND …\n       pannier COMMAND --help')
    .configureHelp({ subcommandTerm: (command) => `${command.name()} ${operandsOf(command)}`.trimEnd() })
    .commandsGroup('Talk to a server:')
    .addCommand(toolsCommand(server))
    .addCommand(callCommand(server))
    .addCommand(promptsCommand(server))
    .addCommand(promptCommand(server))
    .addCommand(resourcesCommand(server))
    .addCommand(readCommand(server))
    .addCommand(resumeCommand(server))
    .addCommand(taskCommand(server))
    .addCommand(loginCommand())
    .commandsGroup('Find out about servers:')
    .addCommand(probeCommand(server))
    .commandsGroup('Serve servers:')
    .addCommand(devCommand())
    .addCommand(gatewayCommand())
    .addCommand(auditCommand())
    .commandsGroup('Manage stored state and keys:')
    .addCommand(jarCommand())
    .addCommand(keysCommand())
    .addCommand(stateCommand())
    .addHelpText('after', EXAMPLES)

  everyCommand(program).forEach((command) =>
    command.exitOverride().configureOutput({
      outputError: (text, write) => write(plainText(hideLongWords(usageText(text, wholeName(command))))),
    }),
  )
  return program
}

/** The operands that follow the name in the list of commands. */
function operandsOf(command: Command): string {
  const [first = ''] = command.usage().split('\n')
  return first.replace('[options]', '').replace('[command]', '').trim()
}

function wholeName(command: Command): string {
  return command.parent === null ? command.name() : `${wholeName(command.parent)} ${command.name()}`
}

export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** `message` is commander's message, `command` the full name, such as `pannier jar list`. The result contains no option value. */
export function usageText(message: string, command: string): string {
  const [first = '', ...rest] = message
    .trim()
    .replace(/^error: /, '')
    .split('\n')
  const suggestion = /^\(Did you mean (.*)\?\)$/.exec(rest.join(' '))?.[1]
  const see = suggestion === undefined ? '; see' : `; did you mean ${suggestion}? See`
  return `error: ${reworded(first)}${see} "${command} --help".\n`
}

function reworded(message: string): string {
  for (const [pattern, words] of REWORDED) {
    const found = pattern.exec(message)
    if (found !== null) return words(found[1] ?? '', found[2] ?? '')
  }
  return 'This command line cannot be read'
}

const REWORDED: readonly (readonly [pattern: RegExp, words: (first: string, second: string) => string])[] = [
  // Cut at "=": a value may follow.
  [/^unknown option '(--[^'=\n]*|-[^'\n]?)/, (option) => `There is no option ${option}`],
  [/^unknown command '(.*)'$/, (name) => `There is no command "${name}"`],
  [/^missing required argument '(.*)'$/, (name) => `${name.toUpperCase()} is missing`],
  [
    /^too many arguments.* Expected (\d+)/,
    (count) => `There are too many operands, this command takes ${countOf(count)}`,
  ],
  [/^option '(\S+)( [^']*)?' argument missing$/, (option, value) => `Give a value with it: ${option}${value}`],
  [/^option '(\S+).*' is invalid\. Allowed choices are (.*)\.$/, (option, all) => `${option} is one of ${all}`],
]

function countOf(count: string): string {
  return count === '0' ? 'none' : `only ${count}`
}

/** Hides long words: a key may have been typed in place of a command or an option. */
function hideLongWords(text: string): string {
  return text.replace(/[\w+/=-]{30,}/g, '[hidden]')
}
