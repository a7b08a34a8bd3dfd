import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import { createKeyring, type Inspected, inspectToken, type Keyring } from '../../state/seal/index.ts'
import { StateError } from '../../state/internal.ts'
import { InputError } from '../exit.ts'
import { readKeysValue } from '../options/keys.ts'
import { resultAs } from '../output/json.ts'
import { writeResult } from '../output/screen.ts'
import { stateData, stateText } from '../output/state.ts'

interface OpenFlags {
  readonly keysFile?: string
  readonly json?: true
}

/** `pannier state`: shows what a sealed state holds, to whoever has the keys. It asks no server. */
export function stateCommand(): Command {
  const state = new Command('state').description('See what a sealed state holds, with the keys that sealed it.')
  state
    .command('open')
    .description('Print what a state, a session id, an event id or the id of a pushed question holds.')
    .usage('[options] TOKEN\n       pannier state open [options] < FILE')
    .argument('[token]', 'what the server sent; without it, or with -, standard input is read')
    .option('--keys, --keys-file <path>', 'read the keys from a file, - for standard input (default: PANNIER_KEYS)')
    .option('--json', 'print JSON')
    .action(async (token: string | undefined, flags: OpenFlags) => writeResult(await openedText(token, flags)))
    .addHelpText('after', HELP)
  return state
}

const HELP = `
What it prints may be secret: answers of people, and results of steps. An expired state is shown, too.

Examples:
  pannier state open AQD… --keys-file .env
  PANNIER_KEYS=… pannier state open < state.txt`

async function openedText(given: string | undefined, { keysFile, json }: OpenFlags): Promise<string> {
  const isPiped = given === undefined || given === '-'
  if (isPiped && keysFile === '-') throw new InputError('Standard input can give the token or the keys, not both.')
  const keyring = createKeyring(await readKeysValue({ file: keysFile, environment: process.env['PANNIER_KEYS'] }))
  const opened = inspected(keyring, tokenIn(isPiped ? await text(process.stdin) : given))
  const now = Date.now()
  return resultAs(json, stateData(opened, now), () => stateText(opened, now))
}

/** Some states have the name of a row before them, and event ids a number after: the token is the longest part. */
function tokenIn(given: string): string {
  const parts = given.match(/[\w-]+/g) ?? []
  return parts.reduce((longest: string, part) => (part.length > longest.length ? part : longest), '')
}

function inspected(keyring: Keyring, token: string): Inspected {
  try {
    return inspectToken(keyring, token)
  } catch (error) {
    const sentence = error instanceof StateError ? SENTENCES[error.code] : undefined
    throw sentence === undefined ? error : new InputError(sentence, { cause: error })
  }
}

/** The library's sentences are for a client that sends a state back. */
const SENTENCES: Readonly<Partial<Record<string, string>>> = {
  STATE_MALFORMED: 'This is nothing that a server made with Pannier sealed; copy it whole, as the server sent it.',
  STATE_TAMPERED: 'This was changed after it was sealed, or cut when it was copied; copy it whole.',
}
