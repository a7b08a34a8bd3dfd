import { Command } from 'commander'
import { createKeyring, newKey, rotationSteps } from '../../state/seal/index.ts'
import { writeResult } from '../output/screen.ts'
import { InputError } from '../exit.ts'
import { readInputFile } from '../options/input.ts'

/** `pannier keys`: creates and rotates the keys that seal state, and prints their ids. */
export function keysCommand(): Command {
  const keys = new Command('keys').description('Make and rotate the keys that seal state (PANNIER_KEYS).')
  keys
    .command('new')
    .description('Print a new key as a line for a .env file.')
    .action(() => writeResult(envLine(newKey())))
  withKeysOptions(keys.command('rotate'))
    .description('Print the three values to deploy, one after the other, so that a new key takes over.')
    .action(async (from: string | undefined, { keysFile }: { keysFile?: string }) => {
      writeResult(rotationText(await readKeysValue(keysFile, from)))
    })
  withKeysOptions(keys.command('ids'))
    .description('Print the ids of the keys, the one that seals first. Ids are safe to share.')
    .action(async (from: string | undefined, { keysFile }: { keysFile?: string }) => {
      const { ids } = createKeyring(await readKeysValue(keysFile, from))
      writeResult(ids.join('\n'))
    })
  return keys
}

function withKeysOptions(command: Command): Command {
  return command
    .argument('[-]', 'read the keys from standard input')
    .option('--keys-file <path>', 'read the keys from a file, - for standard input (default: PANNIER_KEYS)')
}

function envLine(value: string): string {
  return `PANNIER_KEYS=${value}`
}

// Steps 2 and 3 are comments, so that the whole text, used as a .env file, is step 1.
function rotationText(value: string): string {
  const { spread, promote, retire } = rotationSteps(value)
  return [
    '# 1. Spread: deploy this to every instance now; all of them can then open what the new key seals.',
    envLine(spread),
    '# 2. Promote: deploy this once every instance runs with step 1; the new key seals from here on.',
    `# ${envLine(promote)}`,
    '# 3. Retire: deploy this once the last state of the old keys has expired (the longest of ttlSeconds and sessionTtlSeconds after step 2).',
    `# ${envLine(retire)}`,
  ].join('\n')
}

/**
 * The value of PANNIER_KEYS, from the environment, a file or standard input. These two hold the value alone, or lines of a
 * .env file. As an argument only `-` is allowed.
 */
export async function readKeysValue(file: string | undefined, argument?: string): Promise<string> {
  if (argument !== undefined && argument !== '-') {
    throw new InputError('Keys are not given as arguments, where others can see them; use PANNIER_KEYS or --keys-file.')
  }
  const path = argument ?? file
  if (path !== undefined) return valueIn(await readInputFile(path, '--keys-file', undefined, { named: false }))
  if (process.env['PANNIER_KEYS'] !== undefined) return process.env['PANNIER_KEYS']
  throw new InputError(
    'No keys given: set PANNIER_KEYS, or name a file with --keys-file, or pass - for standard input.',
  )
}

/** The value of the last `PANNIER_KEYS=` line, as a .env reader takes it; without one, all lines but comments. */
function valueIn(content: string): string {
  const lines = content.replace(/^\ufeff/, '').split(/\r?\n/)
  const assigned = lines.flatMap((line) => /^\s*(?:export\s+)?PANNIER_KEYS\s*=(.*)$/.exec(line)?.[1] ?? [])
  const last = assigned.at(-1)
  if (last !== undefined) return last.trim().replace(/^(["'])(.*)\1$/, '$2')
  return lines.filter((line) => !line.trimStart().startsWith('#')).join('\n')
}
