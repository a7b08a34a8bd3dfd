import { Command, Option } from 'commander'
import { expect, test } from 'vitest'
import { usageText } from './program.ts'

/** Commander's own message for a line, so that a changed message in a new version is noticed. */
function said(line: readonly string[]): string {
  let text = ''
  const command = new Command('resume')
    .argument('<file>')
    .option('--json <object>')
    .addOption(new Option('--output <form>').choices(['text', 'json']))
  const program = new Command('pannier').addCommand(command)
  for (const each of [program, command]) each.exitOverride().configureOutput({ outputError: (error) => (text = error) })
  expect(() => program.parse(line, { from: 'user' })).toThrow()
  return text
}

test.each<[string[], string]>([
  [['resume', 'f', '--foo'], 'There is no option --foo; see "pannier resume --help".'],
  [['resume', 'f', '-phunter2'], 'There is no option -p; see "pannier resume --help".'],
  [['resume', '--output', 'x\nhunter2', 'f'], 'This command line cannot be read; see "pannier resume --help".'],
  [['resume', 'f', '--foo=hunter2'], 'There is no option --foo; see "pannier resume --help".'],
  [['resume', 'f', '--jso'], 'There is no option --jso; did you mean --json? See "pannier resume --help".'],
  [['resume'], 'FILE is missing; see "pannier resume --help".'],
  [['resume', 'f', 'hunter2'], 'There are too many operands, this command takes only 1; see "pannier resume --help".'],
  [['resume', 'f', '--json'], 'Give a value with it: --json <object>; see "pannier resume --help".'],
  [['resume', '--output', 'hunter2', 'f'], '--output is one of text, json; see "pannier resume --help".'],
  [['nothing'], 'There is no command "nothing"; see "pannier resume --help".'],
])('%j: %s', (line, sentence) => {
  expect(usageText(said(line), 'pannier resume')).toBe(`error: ${sentence}\n`)
})

test('what it has no words for may hold anything, and is not shown', () => {
  expect(usageText('error: something new.\n', 'pannier')).toBe(
    'error: This command line cannot be read; see "pannier --help".\n',
  )
})
