import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { type Given, pannier as runProcess, ProgramHost, type Ran } from '../../../test/cli/fixtures/program.ts'
import { createKeyring, newKey } from '../../state/seal/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const host = new ProgramHost()
afterAll(() => host.close())

const withoutKeys = ({ env, ...given }: Given): Given => ({ ...given, env: { PANNIER_KEYS: undefined, ...env } })

/** Runs the program with no keys but those that are given. */
const pannier = (args: readonly string[], given: Given = {}): Promise<Ran> => host.run(args, withoutKeys(given))

function fileWith(content: string): string {
  const path = join(folder, `${newKey()}.env`)
  writeFileSync(path, content)
  return path
}

/** A key that no command line takes for an option: one of 64 begins with a dash. */
function plainKey(): string {
  const key = newKey()
  return key.startsWith('-') ? plainKey() : key
}

const keys = [plainKey(), plainKey()]
const value = keys.join(',')
const { ids } = createKeyring(value)

test('the program tells its version', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  expect(await runProcess(['--version'])).toEqual({ status: 0, stdout: `${manifest.version}\n`, stderr: '' })
})

describe('keys new', () => {
  test('prints one line for a .env file, with another key each time', async () => {
    const outputs = [await pannier(['keys', 'new']), await pannier(['keys', 'new'])]
    for (const { status, stdout, stderr } of outputs) {
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      expect(stdout).toMatch(/^PANNIER_KEYS=[\w-]{43}\n$/)
      expect(createKeyring(parseEnv(stdout).PANNIER_KEYS!).ids).toHaveLength(1)
    }
    expect(outputs[0]!.stdout).not.toBe(outputs[1]!.stdout)
  })
})

describe('keys rotate', () => {
  test('prints the three values in order, each after a sentence on when to deploy it', async () => {
    const { status, stdout, stderr } = await pannier(['keys', 'rotate'], { env: { PANNIER_KEYS: value } })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => line.slice(0, 6))).toEqual(['# 1. S', 'PANNIE', '# 2. P', '# PANN', '# 3. R', '# PANN'])
    const [spread, promote, retire] = [...stdout.matchAll(/PANNIER_KEYS=(.+)/g)].map(([, found]) =>
      createKeyring(found!),
    )
    const [fresh] = retire!.ids
    expect(ids).not.toContain(fresh)
    expect(spread!.ids).toEqual([...ids, fresh])
    expect(promote!.ids).toEqual([fresh, ...ids])
    expect(retire!.ids).toEqual([fresh])
  })

  test('prints a .env text that makes the first step and no other', async () => {
    const { stdout } = await pannier(['keys', 'rotate'], { env: { PANNIER_KEYS: value } })
    expect(createKeyring(parseEnv(stdout).PANNIER_KEYS!).ids.slice(0, 2)).toEqual(ids)
  })
})

describe('keys ids', () => {
  const expected = { status: 0, stdout: `${ids.join('\n')}\n`, stderr: '' }

  test('prints the ids of the ring and no key', async () => {
    expect(await pannier(['keys', 'ids'], { env: { PANNIER_KEYS: value } })).toEqual(expected)
  })

  test.each([
    ['the value alone', `${value}\n`],
    ['one key in each line, with comments', `# ours\n${keys.join('\n')}\n# end\n`],
    ['a .env file', `PORT=3000\nPANNIER_KEYS=${value}\nDEBUG=1\n`],
    ['a .env file with quotes, export and line ends of Windows', `A=1\r\nexport PANNIER_KEYS="${value}"\r\n`],
  ])('reads the keys from a file or standard input that holds %s', async (_, content) => {
    expect(await pannier(['keys', 'ids', '--keys-file', fileWith(content)])).toEqual(expected)
    expect(await pannier(['keys', 'ids', '--keys-file', '-'], { input: content })).toEqual(expected)
    expect(await pannier(['keys', 'ids', '-'], { input: content })).toEqual(expected)
  })

  test('takes the last of several lines, as a .env reader does', async () => {
    const input = `PANNIER_KEYS=${newKey()}\nPANNIER_KEYS=${value}\n`
    expect(await pannier(['keys', 'ids', '-'], { input })).toEqual(expected)
    expect(await runProcess(['keys', 'ids', '-'], withoutKeys({ input }))).toEqual(expected)
  })
})

describe('bad input ends with exit code 2 and a sentence, and no key is shown', () => {
  const [key] = keys as [string]
  const cut = key.slice(0, 40)
  test.each<[string, string[], Given, RegExp]>([
    ['no keys', ['keys', 'rotate'], {}, /set PANNIER_KEYS/],
    ['an empty variable', ['keys', 'rotate'], { env: { PANNIER_KEYS: '' } }, /no key; make one with/],
    ['a cut key', ['keys', 'rotate'], { env: { PANNIER_KEYS: cut } }, /Key 1 has 40 characters/],
    ['quotes', ['keys', 'ids'], { env: { PANNIER_KEYS: `"${key}"` } }, /without padding or quotes/],
    ['one key twice', ['keys', 'ids', '-'], { input: `${key} ${key}` }, /Keys 1 and 2 are the same/],
    ['empty standard input', ['keys', 'ids', '-'], {}, /no key/],
    ['a key as argument', ['keys', 'ids', key], {}, /not given as arguments/],
    ['a key as command', ['keys', key], {}, /There is no command "\[hidden\]"; see "pannier keys --help"/],
    ['a key as top command', [key], {}, /There is no command "\[hidden\]"; see "pannier --help"/],
    [
      'a key as option',
      ['keys', 'rotate', `--keys=${key}`],
      {},
      /There is no option --keys; see "pannier keys rotate --help"/,
    ],
    ['a key as file name', ['keys', 'rotate', '--keys-file', key], {}, /Cannot read the file .*ENOENT/],
    ['a folder as file', ['keys', 'rotate', '--keys-file', folder], {}, /Cannot read the file .*EISDIR/],
    ['no command', ['keys'], {}, /Usage: pannier keys/],
  ])('%s', async (_, args, given, sentence) => {
    const { status, stdout, stderr } = await pannier(args, given)
    expect(status).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toMatch(sentence)
    expect(stderr).not.toContain(key.slice(0, 20))
    expect(stderr).not.toMatch(/\n {4}at /)
  })
})
