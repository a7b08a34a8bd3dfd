/** The program over time and with secrets: suspended and resumed, logged in, with files, tokens and a jar. */
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { proves } from '../proves.ts'
import { authorizationServer, type AuthorizationServer } from '../client/fixtures/servers/authorization.ts'
import { commandOf, type RunningServer, startServer } from '../client/fixtures/servers/start.ts'
import { type Given, ProgramHost, type Ran, pannier as run, startPannier } from './fixtures/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-life-'))
const env = { XDG_DATA_HOME: folder }
const pannier = (args: readonly string[], given: Given = {}): Promise<Ran> =>
  run(args, { ...given, env: { ...env, ...given.env } })

const host = new ProgramHost()
const hosted = (args: readonly string[], given: Given = {}): Promise<Ran> =>
  host.run(args, { ...given, env: { ...env, ...given.env } })

let kitchen: RunningServer

beforeAll(async () => {
  kitchen = await startServer('pannierServer')
})
afterAll(() => {
  host.close()
  kitchen.close()
  rmSync(folder, { recursive: true, force: true })
})

function fileWith(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

describe('a suspended call', () => {
  const saved = join(folder, 'saved.json')
  const answers = () => fileWith('answers.json', { dish: { dish: 'pie' } })

  proves(
    'MRTR-9',
    'lies in a private file, and another process goes on with it after its server was restarted',
    async () => {
      const before = await startServer('pannierServer')
      const asked = await pannier(['call', before.url, 'cook', '--suspend', saved])
      expect(asked).toMatchObject({
        status: 6,
        stdout: '',
        stderr: expect.stringMatching(
          /1 question waits:\n {2}dish: What shall it be\?\n {4}dish\??: .*\nContinue with: pannier resume/,
        ),
      })
      expect(statSync(saved).mode & 0o777).toBe(0o600)
      before.close()
      const moved = readFileSync(saved, 'utf8').replace(before.url, kitchen.url)
      writeFileSync(saved, moved)

      const still = await pannier(['resume', saved, '--output', 'json'])
      expect(still.status).toBe(6)
      expect(JSON.parse(still.stdout)).toMatchObject({ suspended: { file: saved, inputRequests: { dish: {} } } })
      expect(await pannier(['resume', saved, '--answers', answers()])).toEqual({
        status: 0,
        stdout: 'Here is your pie.\n',
        stderr: '',
      })
      expect(existsSync(saved)).toBe(false)
    },
  )

  test('of a command is continued from another folder', async () => {
    const here = fileWith('start.sh', `exec "${commandOf('pannierServer', 'stdio').join('" "')}"`)
    const there = mkdtempSync(join(folder, 'there-'))
    const asked = await pannier(['call', 'cook', '--suspend', saved, '--', '/bin/sh', 'start.sh'], { cwd: folder })
    expect({ here, ...asked }).toMatchObject({ status: 6 })
    expect(await pannier(['resume', saved, '--yes'], { cwd: there })).toMatchObject({ stdout: 'Here is your soup.\n' })
  })

  test('stays open where --yes has no default for a question', async () => {
    const form = fileWith('table.json', { table: { number: 7 } })
    expect(await hosted(['call', kitchen.url, 'serve', '--yes'])).toMatchObject({ status: 5 })
    expect(await hosted(['call', kitchen.url, 'serve', '--yes', '--suspend', saved])).toMatchObject({
      status: 6,
      stderr: expect.stringMatching(/1 question waits:\n {2}table:/),
    })
    expect(await hosted(['resume', saved, '--yes'])).toMatchObject({ status: 6, stdout: '' })
    expect(await hosted(['resume', saved, '--yes', '--answers', form])).toMatchObject({
      status: 0,
      stdout: 'soup for table 7\n',
    })
  })

  test('that is put to sleep again in another file is only there', async () => {
    const next = join(folder, 'next.json')
    const dish = fileWith('dish.json', { dish: { dish: 'pie' } })
    await hosted(['call', kitchen.url, 'serve', '--suspend', saved])
    expect(await hosted(['resume', saved, '--answers', dish, '--suspend', next])).toMatchObject({ status: 6 })
    expect([existsSync(saved), existsSync(next)]).toEqual([false, true])
    const table = fileWith('table.json', { table: { number: 3 } })
    expect(await hosted(['resume', next, '--answers', table])).toMatchObject({ stdout: 'pie for table 3\n' })
    expect(existsSync(next)).toBe(false)
  })

  test('of a server of the older era cannot be, and that is said', async () => {
    const command = commandOf('sdkV1Server', 'stdio')
    const ran = await pannier(['call', 'cook', '--suspend', saved, '--', ...command])
    expect(ran).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/cannot be suspended/) })
    expect(existsSync(saved)).toBe(false)
  })

  test('that is declined when it goes on has failed because of that', async () => {
    await hosted(['call', kitchen.url, 'cook', '--suspend', saved])
    expect(await hosted(['resume', saved, '--decline'])).toMatchObject({
      status: 5,
      stderr: expect.stringMatching(/declined/),
    })
  })

  test.each<[string, string[], RegExp]>([
    ['is not there', ['resume', join(folder, 'none.json')], /There is no file .*none\.json \(ENOENT\); check its name/],
    [
      'is no saved call',
      ['resume', fileWith('odd.json', { secret: 'hunter2' })],
      /odd\.json: This is not a saved call/,
    ],
    ['has a command beside it', ['resume', 'x', '--', 'node'], /knows its server/],
  ])('that %s is bad input', async (_, args, sentence) => {
    const ran = await hosted(args)
    expect(ran).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(sentence) })
    expect(ran.stderr).not.toMatch(/hunter2|\n {4}at /)
  })
})

describe('who calls', () => {
  let guarded: RunningServer
  beforeAll(async () => {
    guarded = await startServer('pannierServer', {}, 'token')
  })
  afterAll(() => guarded.close())

  test('is said by a token from the environment, a header, or a file; without one there is no connection', async () => {
    const file = fileWith('mcp.json', {
      servers: { web: { url: guarded.url, headers: { Authorization: 'Bearer ${WHO}' } } },
    })
    const [bearer, header, entry, unset, nobody] = await Promise.all([
      hosted(['call', guarded.url, 'who', '--bearer-env', 'TOKEN'], { env: { TOKEN: 'ann' } }),
      hosted(['call', guarded.url, 'who', '--header', 'Authorization: Bearer ${WHO}'], { env: { WHO: 'bob' } }),
      hosted(['call', `${file}#web`, 'who'], { env: { WHO: 'eve' } }),
      hosted(['call', `${file}#web`, 'who']),
      hosted(['call', guarded.url, 'who']),
    ])
    expect([bearer, header, entry].map((ran) => ran?.stdout)).toEqual(['ann\n', 'bob\n', 'eve\n'])
    expect(unset).toMatchObject({ status: 2, stderr: expect.stringMatching(/needs the variable "WHO"/) })
    expect(nobody).toMatchObject({ status: 3, stderr: expect.stringMatching(/refuses access/) })
  })

  test('a token that is refused is shown nowhere', async () => {
    const ran = await hosted(['call', guarded.url, 'who', '--bearer-env', 'TOKEN', '--verbose'], {
      env: { TOKEN: 'not-a-name' },
    })
    expect(ran.status).toBe(3)
    expect(ran.stdout + ran.stderr).not.toMatch('not-a-name')
  })
})

describe('a login with the browser', () => {
  let provider: AuthorizationServer
  beforeAll(async () => {
    provider = await authorizationServer()
  })
  afterAll(() => provider.close())

  test('happens once; what it gave is kept in a private file, and used by the next call', async () => {
    const args = ['call', provider.mcpUrl, 'who', '--oauth']
    // The person follows the address that the program shows; there is no browser here.
    const { child, ended } = startPannier(args, { env: { ...env, PATH: '' } })
    const shown = new Promise<string>((resolve) => child.stderr?.once('data', (text) => resolve(String(text))))
    const address = /^http\S+$/m.exec(await shown)?.[0] ?? ''
    expect(await provider.visit(address)).toMatch(/You can close this window/)
    expect(await ended).toMatchObject({ status: 0, stdout: 'ann\n' })

    const logins = join(folder, 'pannier', 'logins.json')
    expect(statSync(logins).mode & 0o777).toBe(0o600)
    expect(await pannier(args)).toEqual({ status: 0, stdout: 'ann\n', stderr: '' })
    expect(provider.visits).toBe(1)
  })

  test('that is refused leaves no connection', async () => {
    rmSync(join(folder, 'pannier', 'logins.json'), { force: true })
    const { child, ended } = startPannier(['tools', provider.mcpUrl, '--oauth'], { env: { ...env, PATH: '' } })
    const shown = new Promise<string>((resolve) => child.stderr?.once('data', (text) => resolve(String(text))))
    const address = new URL(/^http\S+$/m.exec(await shown)?.[0] ?? '')
    await provider.refuse(address)
    expect(await ended).toMatchObject({ status: 3, stderr: expect.stringMatching(/refuses access/) })
  })
})

describe('what a server asks to keep', () => {
  const visits = (...options: string[]) =>
    hosted(['call', 'visits', ...options, '--', ...commandOf('pannierServer', 'stdio')])

  test('is kept from call to call, for each principal, and can be switched off', async () => {
    expect((await visits()).stdout).toBe('visit 1\n')
    const again = await pannier(['call', 'visits', '--', ...commandOf('pannierServer', 'stdio')])
    expect(again.stdout).toBe('visit 2\n')
    expect((await visits('--principal', 'bob')).stdout).toBe('visit 1\n')
    expect((await visits('--no-jar')).stdout).toBe('visit 1\n')
    expect((await visits('--jar', join(folder, 'other.db'))).stdout).toBe('visit 1\n')
    expect((await hosted(['jar', 'list'])).stdout).toMatch(/pannierServer\.ts/)
  })

  test('is not kept in a jar that cannot be used; one that was named is bad input, the own one no reason to fail', async () => {
    const jar = fileWith(
      'broken.db',
      'no jar at all, but some text that is longer than a header of SQLite is.'.repeat(9),
    )
    expect(await visits('--jar', jar)).toEqual({
      status: 2,
      stdout: '',
      stderr: `error: The jar ${jar} cannot be used. The file was not made by Pannier or is damaged; restore it from a backup, or move it away, and a new one is made.\n`,
    })
    const home = mkdtempSync(join(folder, 'home-'))
    mkdirSync(join(home, 'pannier'))
    copyFileSync(jar, join(home, 'pannier', 'jar.db'))
    const command = ['call', 'visits', '--', ...commandOf('pannierServer', 'stdio')]
    expect(await hosted(command, { env: { XDG_DATA_HOME: home } })).toMatchObject({
      status: 0,
      stdout: 'visit 1\n',
      stderr: expect.stringMatching(/^The jar \S+ cannot be used\. .* neither sent nor kept\.\n$/),
    })
  })
})

describe('no connection', () => {
  test('yet: Ctrl-C ends the waiting', async () => {
    const asked = Promise.withResolvers<void>()
    const { url } = await hostUntil(() => asked.resolve())
    const { child, ended } = startPannier(['tools', url], { env })
    await asked.promise
    child.kill('SIGINT')
    expect(await ended).toEqual({ status: 130, stdout: '', stderr: 'Cancelled.\n' })
  })

  test('any more: a reader that stops is no error', async () => {
    const { child, ended } = startPannier(['tools', kitchen.url], { env })
    ended.catch(() => undefined) // there is nothing to collect
    child.stdout?.destroy()
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test.each<[string, string[], RegExp]>([
    ['to a closed port', ['tools', 'http://127.0.0.1:9/mcp'], /Cannot connect to http:\/\/127\.0\.0\.1:9\/mcp: /],
    ['to a program that is not there', ['tools', '--', '/nowhere/server'], /no such program/],
    ['to a program that ends before it is asked', ['tools', '--', '/bin/sh', '-c', 'exit 9'], /exit code 9/],
    [
      'any more, because the program ended',
      ['call', 'collapse', '--', ...commandOf('pannierServer', 'stdio')],
      /gave no answer: its process ended with exit code 9\. The request may have had effects\./,
    ],
    ['to one that ends at once', ['tools', '--', ...commandOf('oddServer', 'broken')], /exit code 3/],
  ])('%s is said in a line, with exit code 3', async (_, args, sentence) => {
    const ran = await pannier(args)
    expect(ran).toMatchObject({ status: 3, stdout: '', stderr: expect.stringMatching(sentence) })
    expect(ran.stderr).not.toMatch(/\n {4}at |\p{Cc}\[/u)
  })

  test('to one that ends at once shows its last words', async () => {
    const ran = await pannier(['tools', '--', ...commandOf('oddServer', 'broken')])
    expect(ran.stderr).toMatch(/^server: .*The oven is missing\.\nerror: /)
  })
})

test.each<[string, string[], RegExp]>([
  ['no target', ['tools'], /TARGET is missing/],
  ['a host for a URL', ['tools', 'localhost:3000'], /Write the whole address/],
  ['a file without a name', ['tools', 'mcp.json'], /Name the server of the file/],
  ['bad JSON', ['call', 'http://a.example', 'x', '--json', 'hunter2'], /--json takes a JSON object/],
  ['a bad header', ['tools', 'http://a.example', '--header', 'hunter2'], /--header takes/],
  ['an unset token', ['tools', 'http://a.example', '--bearer-env', 'NONE'], /variable is not set/],
  ['a bad form', ['tools', 'http://a.example', '--output', 'xml'], /--output is one of text, json/],
  ['two ways to answer', ['call', 'http://a.example', 'x', '--yes', '--decline'], /not both/],
  [
    'a missing file of answers',
    ['call', 'http://a.example', 'x', '--answers', '/none'],
    /Cannot read \/none, .*ENOENT/,
  ],
  [
    'a missing file of arguments',
    ['call', 'http://a.example', 'x', '--json', '@none.json'],
    /Cannot read none\.json, /,
  ],
  ['no command after --', ['tools', '--'], /^error: Give a command after --/],
  ['a target in the wrong place', ['call', 'add', 'http://a.example'], /^error: TARGET comes first/],
  ['an unknown option', ['call', '--foo=hunter2'], /^error: There is no option --foo; see "pannier call --help"\.\n$/],
  ['no file to resume', ['resume'], /^error: FILE is missing; see "pannier resume --help"\.\n$/],
])('%s is bad input', async (_, args, sentence) => {
  const ran = await hosted(args)
  expect(ran).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(sentence) })
  expect(ran.stderr).not.toMatch(/hunter2|\n {4}at /)
})
