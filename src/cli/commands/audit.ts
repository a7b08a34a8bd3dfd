/** `pannier audit`: verifies audit logs. */
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { AuditVerifier, type VerifiedAudit } from '../../audit/index.ts'
import { plainLine } from '../../client/index.ts'
import { errnoOf } from '../../client/internal.ts'
import { createKeyring, type Keyring } from '../../state/seal/index.ts'
import { EXIT, type ExitCode, InputError } from '../exit.ts'
import { resultAs } from '../output/json.ts'
import { writeResult } from '../output/screen.ts'
import { readKeysValue } from './keys.ts'

interface VerifyFlags {
  readonly keysFile?: string
  readonly json?: true
}

export function auditCommand(): Command {
  const audit = new Command('audit').description('Verify the audit log of a gateway.')
  audit
    .command('verify')
    .description('Find lines of an audit log that were changed, left out or moved.')
    .usage('[options] PATH …')
    .argument('<paths...>', 'files of the log, or their folder')
    .option('--keys-file <path>', 'read the keys from a file, - for standard input (default: PANNIER_KEYS)')
    .option('--json', 'print JSON')
    .action(async (paths: string[], flags: VerifyFlags) => {
      process.exitCode = await verify(paths, flags)
    })
    .addHelpText('after', HELP)
  return audit
}

const HELP = `
Heads in the log are signed with the keys of the gateway. Without keys, only the order and the digests of the lines are verified.

Exit codes:
  0    the log is whole
  1    a line was changed, left out or moved, or a head is not signed with these keys
  2    a file cannot be read`

async function verify(paths: readonly string[], { keysFile, json }: VerifyFlags): Promise<ExitCode> {
  const keyring = await keyringFrom(keysFile)
  const verifier = new AuditVerifier(keyring)
  const files = (await Promise.all(paths.map(filesAt))).flat()
  for (const file of files) await readLog(file, verifier)
  const { result } = verifier
  const isSigned = keyring !== undefined
  writeResult(
    resultAs(json, { files: files.length, signaturesVerified: isSigned, ...result }, () =>
      verifiedText(result, isSigned),
    ),
  )
  return result.faults.length === 0 ? EXIT.ok : EXIT.toolError
}

/** Undefined if neither the option nor the variable gives keys. */
async function keyringFrom(file: string | undefined): Promise<Keyring | undefined> {
  const hasKeys = file !== undefined || process.env['PANNIER_KEYS'] !== undefined
  return hasKeys ? createKeyring(await readKeysValue(file)) : undefined
}

/** The files of a folder in the order in which they were written. */
async function filesAt(path: string): Promise<readonly string[]> {
  return orUnreadable(path, async () => {
    if (!(await stat(path)).isDirectory()) return [path]
    const names = (await readdir(path)).filter((name) => name.endsWith('.jsonl')).toSorted()
    if (names.length === 0) throw new InputError(`The folder ${plainLine(path, 200)} has no audit log.`)
    return names.map((name) => join(path, name))
  })
}

function readLog(file: string, verifier: AuditVerifier): Promise<void> {
  return orUnreadable(file, async () => {
    const handle = await open(file)
    let number = 0
    for await (const line of handle.readLines()) {
      number += 1
      if (line !== '') verifier.read(line, file, number)
    }
  })
}

async function orUnreadable<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof InputError) throw cause
    throw new InputError(`Cannot read ${plainLine(path, 200)} (${errnoOf(cause)}); check its path.`, { cause })
  }
}

/** Maximum number of faults and chains that are printed for people. */
const SHOWN = 20

function verifiedText({ entries, faults, unsigned }: VerifiedAudit, areSigned: boolean): string {
  const verdict = faults.length === 0 ? 'The log is whole' : `The log has ${count(faults.length, 'fault')}`
  const found = faults
    .slice(0, SHOWN)
    .map(({ file, line, sentence }) => `  ${plainLine(file, 200)}:${line}  ${sentence}`)
  const more = faults.length > SHOWN ? [`  and ${faults.length - SHOWN} more; --json has all of them`] : []
  const open = unsigned.slice(0, SHOWN).map(({ instance, entries: last }) => {
    const name = plainLine(instance, 100)
    return `  ${name} has not closed its log: it runs, was killed, or its last lines were cut off. No head signs its last ${count(last, 'entry', 'entries')}.`
  })
  const keys = areSigned ? [] : ['Signatures were not verified: set PANNIER_KEYS, or name a file with --keys-file.']
  return [`${verdict}: ${count(entries, 'entry', 'entries')}.`, ...found, ...more, ...open, ...keys].join('\n')
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}
