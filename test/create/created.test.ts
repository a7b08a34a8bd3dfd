/**
 * `npm create pannier` from the sources: its command line, its questions, and what it makes, with this repository as the
 * installed package. `scripts/created.ts` does the same with the packed packages and npm.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createKeyring } from 'pannier/state'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import own from '../../create-pannier/package.json' with { type: 'json' }
import { TEMPLATE_NAMES } from '../../create-pannier/src/templates.ts'
import manifest from '../../package.json' with { type: 'json' }
import { root } from '../../scripts/repository.ts'
import { freePort } from '../fixtures/httpHost.ts'
import { isLong } from '../amount.ts'
import { KEYS, openPty, type Pty } from '../cli/fixtures/pty.ts'
import { answeredCall, serve } from './fixtures/calls.ts'

const PROGRAM = 'create-pannier/src/main.ts'
const SOURCE = '--conditions=pannier-source'
const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'pannier-created-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  code: number
  stdout: string
  stderr: string
}

async function create(...args: readonly string[]): Promise<Ended> {
  const running = run(process.execPath, [join(root, PROGRAM), ...args], { cwd: folder })
  running.child.stdin?.end()
  try {
    return { code: 0, ...(await running) }
  } catch (error) {
    const { code, stdout, stderr } = error as Ended
    return { code, stdout, stderr }
  }
}

const read = (...path: readonly string[]): string => readFileSync(join(folder, ...path), 'utf8')

/** As after npm install, with the sources of this repository in place of the package. */
function link(project: string): void {
  const modules = join(folder, project, 'node_modules')
  mkdirSync(modules)
  symlinkSync(root, join(modules, 'pannier'))
  symlinkSync(join(root, 'node_modules/zod'), join(modules, 'zod'))
}

describe.each(TEMPLATE_NAMES)('the template %s', (template) => {
  const project = `made-${template}`

  test('makes a project of this version, with its own name and keys, whose test passes', async () => {
    const { code, stderr } = await create(project, '--template', template, '--no-install')
    expect([code, stderr]).toEqual([0, ''])
    const { name, dependencies, devDependencies } = JSON.parse(read(project, 'package.json'))
    expect([name, dependencies.pannier]).toEqual([project, `^${manifest.version}`])
    const { zod, typescript, '@types/node': node } = manifest.devDependencies
    expect({ ...dependencies, ...devDependencies }).toMatchObject({ zod, typescript, '@types/node': node })
    const [, key = ''] = /PANNIER_KEYS=(.*)/.exec(read(project, '.env')) ?? []
    expect(createKeyring(key).ids).toHaveLength(1)
    expect(read(project, '.gitignore').split('\n')).toContain('.env')
    for (const [, entry = ''] of read(project, 'README.md').matchAll(/```json\n(.*?)```/gs)) {
      const { mcpServers, servers } = JSON.parse(entry)
      expect(Object.keys(mcpServers ?? servers)).toEqual([project])
    }
    if (!isLong && template !== 'http') return // `npm run test:long` runs each with the packed packages as well
    link(project)
    const { stdout } = await run(process.execPath, [SOURCE, '--env-file=.env', '--test'], {
      cwd: join(folder, project),
      env: { ...process.env, NODE_OPTIONS: SOURCE, NODE_TEST_CONTEXT: undefined },
    })
    expect(stdout).toMatch(/[1-9]\d*\n.*fail 0\n/s)
  })
})

test('the HTTP server asks the client of the official SDK', async () => {
  await create('served', '--template', 'http', '--no-install')
  link('served')
  const command = [process.execPath, SOURCE, '--env-file=.env', 'src/http.ts']
  const served = await serve(join(folder, 'served'), command, { PORT: '0' })
  onTestFinished(() => served.close())
  const { asked, text } = await answeredCall(served.url, 'delete_branch', { branch: 'old-idea' }, { sure: true })
  expect(asked).toEqual(['Delete the branch old-idea?'])
  expect(text).toMatch(/^The branch old-idea was deleted at \d{4}-/)
})

test.each(['http', 'stdio'])('npm run dev serves the %s server over HTTP', async (template) => {
  const name = `developed-${template}`
  await create(name, '--template', template, '--no-install')
  link(name)
  const { scripts } = JSON.parse(read(name, 'package.json')) as { scripts: { dev: string } }
  const [, dev = '', file = ''] = scripts.dev.split(' ')
  const port = String(await freePort())
  const args = [dev, join(folder, name, file)]
  const pty = openPty({ program: 'src/cli/main.ts', args, env: { PORT: port }, out: join(folder, `${name}-out`) })
  onTestFinished(() => pty.kill('SIGTERM'))
  const url = `http://127.0.0.1:${port}/mcp`
  await pty.see(`Serving ${url}`)
  const { text } = await answeredCall(url, 'delete_branch', { branch: 'old-idea' }, { sure: false })
  expect(text).toBe('The branch old-idea stays.')
})

test('the entry in the README of the stdio server starts it', async () => {
  await create('started', '--template', 'stdio', '--no-install')
  link('started')
  const [, entry = ''] = /```json\n(.*?)```/s.exec(read('started', 'README.md')) ?? []
  const { args } = JSON.parse(entry).mcpServers.started as { args: string[] }
  const transport = new StdioClientTransport({ command: process.execPath, args: [SOURCE, ...args], stderr: 'ignore' })
  const { text } = await answeredCall(transport, 'delete_branch', { branch: 'old-idea' }, { sure: false })
  expect(text).toBe('The branch old-idea stays.')
})

describe('the command line', () => {
  test('a folder that is not empty is refused, and nothing is written there', async () => {
    mkdirSync(join(folder, 'full'))
    writeFileSync(join(folder, 'full/notes.txt'), '')
    expect(await create('full', '--yes', '--no-install')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The folder full is not empty: it has notes.txt. Choose another folder, or empty it first.\n',
    })
    expect(readdirSync(join(folder, 'full'))).toEqual(['notes.txt'])
  })

  test('a folder with nothing but a repository counts as empty, and --yes makes the HTTP server', async () => {
    mkdirSync(join(folder, 'cloned/.git'), { recursive: true })
    const { stdout } = await create('cloned', '--yes', '--no-install')
    expect(stdout).toContain('  cd cloned\n  npm install\n  npm run dev\n')
    expect(readdirSync(join(folder, 'cloned/src'))).toEqual(['http.ts', 'server.ts'])
  })

  test.each([
    [['--template', 'grpc'], 'There is no template grpc. The templates are http, stdio, workers, gateway.'],
    [['--tempalte', 'http'], "Unknown option '--tempalte'. npm create pannier -- --help lists the options."],
    [['one', 'two'], 'One folder is enough; two is too much. npm create pannier -- --help lists the options.'],
    [['***', '--yes'], '"***" gives the project no name. Choose a folder with a letter in its name.'],
    [['new'], 'There is no terminal to ask at. Give a folder and --template NAME, or --yes for the defaults.'],
  ])('%j is refused with a sentence', async (args, sentence) => {
    expect(await create(...args)).toEqual({ code: 1, stdout: '', stderr: `${sentence}\n` })
  })

  test('the version is that of the package', async () => {
    expect(await create('--version')).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
    expect([own.version, own.engines]).toEqual([manifest.version, manifest.engines])
  })
})

describe('at a terminal', () => {
  let count = 0

  function atTerminal(...args: readonly string[]): Pty {
    const pty = openPty({ program: PROGRAM, args, out: join(folder, `out-${++count}`) })
    onTestFinished(() => pty.kill())
    return pty
  }

  test('it asks what to build, again until the answer is one of the templates', async () => {
    const path = join(folder, 'asked')
    const pty = atTerminal(path, '--no-install')
    await pty.see('What do you build?')
    await pty.see('4  gateway   one address for several MCP servers')
    await pty.see('(1): ')
    pty.press('5', KEYS.enter)
    await pty.see('Answer with a number from 1 to 4, or with a name.')
    await pty.see('(1): ')
    pty.press('2', KEYS.enter)
    expect(await pty.end()).toMatchObject({ exitCode: 0 })
    expect(readdirSync(join(path, 'src'))).toContain('stdio.ts')
  })

  test('it asks for the folder, again while that is not empty', async () => {
    mkdirSync(join(folder, 'taken/src'), { recursive: true })
    const pty = atTerminal('--template', 'http', '--no-install')
    await pty.see('Folder (my-server): ')
    pty.press(join(folder, 'taken'), KEYS.enter)
    await pty.see('is not empty')
    await pty.see('Folder (my-server): ')
    pty.press(join(folder, 'named'), KEYS.enter)
    expect(await pty.end()).toMatchObject({ exitCode: 0 })
    expect(read('named/package.json')).toContain('"name": "named"')
  })

  test.each([
    ['Ctrl-C', KEYS.ctrlC],
    ['Ctrl-D', '\u0004'],
  ])('%s ends it, and nothing is made', async (_, key) => {
    const pty = atTerminal(join(folder, 'left'))
    await pty.see('(1): ')
    pty.press(key)
    expect(await pty.end()).toEqual({ exitCode: 1, stdout: '' })
    expect(readdirSync(folder)).not.toContain('left')
  })
})
