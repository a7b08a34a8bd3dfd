/** The commands of the program `pannier`, from their definitions. */
import type { Command, Option } from 'commander'
import { createProgram, everyCommand } from '../../src/cli/program.ts'
import { defaultJarPath } from '../../src/state/jar/index.ts'
import { anchorOf, code, prose, table } from '../docs/markdown.ts'

export function commandsReference(): string {
  const program = createProgram(undefined)
  const commands = everyCommand(program).slice(1)
  const overview = table(
    ['command', 'what it does'],
    commands.map((command) => [`[${code(nameOf(command))}](#${anchorOf(nameOf(command))})`, describe(command)]),
  )
  return [overview, ...commands.map(commandSection)].join('\n\n')
}

function commandSection(command: Command): string {
  const groups = Map.groupBy(
    command.options.filter(({ hidden }) => !hidden),
    ({ helpGroupHeading = 'Options:' }) => helpGroupHeading.replace(/:$/, ''),
  )
  return [
    `## ${nameOf(command)}`,
    describe(command),
    ['```text', ...usageLines(command), '```'].join('\n'),
    ...[...groups].map(([title, options]) =>
      table([title.toLowerCase(), 'what it does', 'default'], options.map(optionRow)),
    ),
    additions(command),
  ]
    .filter((text) => text !== '')
    .join('\n\n')
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`
}

function describe(command: Command): string {
  return prose(command.description())
}

function usageLines(command: Command): string[] {
  return command
    .usage()
    .split('\n')
    .map((line) => `${nameOf(command)} ${line.trim()}`.replace(/^(pannier [a-z ]+) \1/, '$1'))
}

function optionRow({ flags, description, defaultValue, argChoices }: Option): string[] {
  const choices = argChoices === undefined ? '' : `: ${argChoices.map(code).join(', ')}`
  const [, text = description, standard] = /^(.*?) \(default: (.*)\)$/s.exec(withoutPaths(description)) ?? []
  const fallback = defaultValue === undefined || typeof defaultValue === 'boolean' ? '' : code(String(defaultValue))
  return [code(flags), prose(withoutPaths(text)) + choices, standard === undefined ? fallback : prose(standard)]
}

/** What the help of a command says below its options: operands, variables, exit codes. */
function additions(command: Command): string {
  let help = ''
  command.configureOutput({ writeOut: (text) => void (help += text) }).outputHelp()
  const more = help.slice(command.helpInformation().length).trim()
  return more === '' ? '' : `\`\`\`text\n${withoutPaths(more)}\n\`\`\``
}

/** The default file of the jar depends on the user. */
function withoutPaths(text: string): string {
  return text.replaceAll(defaultJarPath(), 'your own jar')
}
