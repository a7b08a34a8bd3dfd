/** What the files of a program say about what its process keeps: they are read and never run. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { probe, type Verdict } from 'pannier/probe'
import { describe, expect, onTestFinished, test } from 'vitest'
import { pannier } from '../cli/fixtures/program.ts'

/** Answers lists and calls; its handlers are given by name. */
const SERVE = `
  export function serve(handlers) {
    const tools = Object.keys(handlers).map((name) => ({ name, description: 'Returns a text.', inputSchema: { type: 'object' } }))
    process.stdin.setEncoding('utf8').on('data', (chunk) => chunk.split('\\n').filter(Boolean).forEach(async (line) => {
      const { id, method, params } = JSON.parse(line)
      if (id === undefined) return
      const about = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
      const text = method === 'tools/call' ? await handlers[params.name](params.arguments) : ''
      const results = { initialize: about, 'tools/list': { tools }, 'tools/call': { content: [{ type: 'text', text }] } }
      const said = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'Method not found' } }
      console.log(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
    }))
  }
`
const KEEPING = `import { serve } from './serve.js'
const opened = new Map()
serve({
  alpha: async ({ text }) => { opened.set(text, 'a-secret-value'); return 'done' },
  beta: async ({ text }) => opened.get(text) ?? 'none',
  gamma: async ({ text }) => { opened.delete(text); return 'done' },
})
`
const PLAIN = `import { serve } from './serve.js'
serve({ alpha: async ({ text }) => text.trim(), beta: async ({ text }) => [...text].reverse().join('') })
`

/** A package on disk; the name of its folder. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-program-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const all = { 'package.json': '{ "name": "x", "type": "module" }', 'serve.js': SERVE, ...files }
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const started = (folder: string): [string, string] => [process.execPath, join(folder, 'main.js')]

/** What the files alone say; no process is started. */
async function readOf(files: Readonly<Record<string, string>>): Promise<Verdict> {
  return probe(started(folderWith(files)), { methods: ['program'] })
}

const becauseOf = ({ methods }: Verdict): string => JSON.stringify(methods.program?.details['because'] ?? [])

describe('a program whose tools say nothing', () => {
  test('is STATEFUL where one call leaves something for another, and the place is named', async () => {
    const verdict = await probe(started(folderWith({ 'main.js': KEEPING })), { timeoutMs: 60_000 })
    expect(verdict).toMatchObject({ state: 'STATEFUL', decidedBy: 'program', protocol: { state: 'STATELESS' } })
    expect(verdict.methods.tools?.state).toBe('STATELESS')
    expect(verdict.process.because[0]).toBe('main.js, line 2: `opened` is filled by some calls and read by others.')
    expect(verdict.process.because.at(-1)).toMatch(/^But: Its tools say nothing/)
    expect(verdict.confidence).toBeLessThanOrEqual(0.9)
    expect(verdict.requests).toBeGreaterThan(0)
  })

  test('is STATELESS where no call leaves anything', async () => {
    const verdict = await probe(started(folderWith({ 'main.js': PLAIN })), { timeoutMs: 60_000 })
    expect(verdict).toMatchObject({ state: 'STATELESS', confidence: 0.9 })
    expect(verdict.methods.program).toMatchObject({ state: 'STATELESS', details: { because: [expect.any(String)] } })
  })

  test('is judged by its tools alone where its files are not to be read', async () => {
    const command = started(folderWith({ 'main.js': KEEPING }))
    const verdict = await probe(command, { program: false, timeoutMs: 60_000 })
    expect(verdict).toMatchObject({ state: 'STATELESS', process: { decidedBy: 'tools' } })
    expect(verdict.methods).not.toHaveProperty('program')
    const { stdout } = await pannier(['probe', '--no-program', '--timeout', '60', '--', ...command])
    expect(stdout).toMatch(/^STATELESS/)
    await expect(probe(command, { program: 'no' as never })).rejects.toThrow('"program" must be true or false.')
  })
})

test('nothing is run, and no text of a file is shown but identifiers', async () => {
  const folder = folderWith({
    'main.js': `import { writeFileSync } from 'node:fs'
      writeFileSync(new URL('./ran', import.meta.url), '')
      class Sessions {
        constructor() { this['key sk-123456 of Ann'] = {} }
        handleOpen({ id }) { this['key sk-123456 of Ann'][id] = 'sk-987654' }
        handleRead({ id }) { return this['key sk-123456 of Ann'][id] }
      }
      new Sessions()`,
  })
  const verdict = await probe(started(folder), { methods: ['program'] })
  expect(existsSync(join(folder, 'ran'))).toBe(false)
  expect(becauseOf(verdict)).toContain('main.js, line 4: a name in quotes is filled by some calls')
  expect(JSON.stringify(verdict)).not.toMatch(/sk-|Ann/)
})

describe('places that calls write', () => {
  test.each([
    [
      'a variable that one tool sets',
      `let folder
      server.tool('use', (args) => { folder = args.path })
      server.tool('list', () => readdir(folder))`,
      '`folder` is set by some calls',
    ],
    [
      'a field of a class, by cases of a switch',
      `class App {
      open = null
      async handleCall(name, args) { switch (name) {
        case 'open': this.open = await start(args.id); return
        case 'next': return this.open.next()
      } } }
      new App()`,
      '`open` is set by some calls',
    ],
    [
      'a list that grows',
      `const thoughts = []
      server.tool('think', ({ thought }) => { thoughts.push(thought); return thoughts.length })`,
      '`thoughts` is filled and read by the same calls',
    ],
    [
      'a number that one tool counts and another reads',
      `let cookies = 0
      server.tool('give', () => { cookies++; return 'Here.' })
      server.tool('sum', () => String(cookies))`,
      '`cookies` is set by some calls',
    ],
  ])('are found: %s', async (_, main, sentence) => {
    expect(becauseOf(await readOf({ 'main.js': main }))).toContain(sentence)
  })

  test.each([
    [
      'made once from the configuration',
      `let client
      function connected() { if (!client) client = connect(process.env.URL); return client }
      server.tool('query', ({ sql }) => connected().query(sql))`,
    ],
    [
      'of the call itself',
      `server.tool('sum', ({ list }) => { let sum = 0; list.forEach((one) => { sum += one }); return sum })`,
    ],
    [
      'of an object that each call makes',
      `class Builder { parts = []; add(part) { this.parts.push(part); return this } }
      server.tool('build', ({ a }) => new Builder().add(a).parts)`,
    ],
    [
      'written before anybody calls',
      `const tools = []
      function setupTools() { tools.push('a') }
      setupTools()
      server.tool('list', () => tools.join())`,
    ],
    [
      'of a function that is over with each call',
      `export function output(command) {
        let text = ''
        const child = spawn(command)
        child.stdout.on('data', (chunk) => { text += chunk })
        return finished(child, () => text)
      }
      server.tool('run', ({ kind, command }) => library[kind](command))`,
    ],
  ])('are not what is %s', async (_, main) => {
    expect(await readOf({ 'main.js': main })).toMatchObject({ state: 'STATELESS', confidence: 0.9 })
  })
})

describe('a bundle', () => {
  const dependency = `// node_modules/state/index.js
const seen = new Map()
function handleSeen(key) { seen.set(key, 1) }
function handleAsked(key) { return seen.get(key) }

// src/main.js
`
  const own = `server.tool('get', ({ id }) => fetch(id))`

  test('is judged by what is its own, with the lines of the file', async () => {
    expect(await readOf({ 'main.js': dependency + own })).toMatchObject({ state: 'STATELESS', confidence: 0.9 })
    const verdict = await readOf({
      'main.js': `${dependency}let chosen\n${own}\nserver.tool('set', ({ id }) => { chosen = id })\nserver.tool('of', () => chosen)`,
    })
    expect(becauseOf(verdict)).toContain('main.js, line 7: `chosen`')
  })

  test('that is written without lines tells nothing, as does one that is too long', async () => {
    const minified = `let a;${`server.tool("x",(b)=>{a=b});`.repeat(100)}`
    const long = `${own}\n${`const text = 'x'\n`.repeat(40_000)}`
    for (const main of [minified, long]) {
      const verdict = await readOf({ 'main.js': main })
      expect(verdict.methods.program).toMatchObject({ state: 'UNKNOWN', confidence: 0 })
      expect(verdict.state).toBe('UNKNOWN')
    }
  })
})

test('a file that cannot be read, and a link out of the package, are passed over', async () => {
  const outside = folderWith({ 'state.js': KEEPING })
  const folder = folderWith({
    'main.js': `import './linked.js'\nimport './missing.js'\nserver.tool('get', ({ id }) => fetch(id))`,
  })
  symlinkSync(join(outside, 'state.js'), join(folder, 'linked.js'))
  expect(await probe(started(folder), { methods: ['program'] })).toMatchObject({ state: 'STATELESS' })
  const broken = await readOf({ 'main.js': 'let = = 1', 'serve.js': '' })
  expect(broken).toMatchObject({ state: 'UNKNOWN', message: expect.stringContaining('Its files do not tell') })
})

describe('the files of a command', () => {
  const found = { state: 'STATEFUL', decidedBy: 'program' }
  const manifest = (bin: string): string => JSON.stringify({ name: '@a/kept', version: '1.2.3', type: 'module', bin })
  const installed = {
    'node_modules/@a/kept/package.json': manifest('main.js'),
    'node_modules/@a/kept/main.js': KEEPING,
  }

  test.each([
    ['a package here', ['npx', '-y', '@a/kept']],
    ['a package of that version', ['npx', '@a/kept@1.2.3']],
    ['a package whose program is named', ['npm', 'exec', '--package=@a/kept', 'kept']],
    ['a file after options', ['node', '--import', 'other', 'node_modules/@a/kept/main.js', '--flag']],
  ])('are found: %s', async (_, [command = '', ...args]) => {
    const verdict = await probe({ command, args, cwd: folderWith(installed) }, { methods: ['program'] })
    expect(verdict).toMatchObject(found)
  })

  test('are found in the cache of npx, and behind a link to a program', async () => {
    const cache = folderWith({})
    for (const [path, text] of Object.entries(installed)) {
      const full = join(cache, '_npx', 'abc', path)
      mkdirSync(dirname(full), { recursive: true })
      writeFileSync(full, text)
    }
    const cwd = folderWith({})
    const env = { npm_config_cache: cache, PATH: join(cwd, 'bin') }
    mkdirSync(join(cwd, 'bin'))
    symlinkSync(join(cache, '_npx/abc/node_modules/@a/kept/main.js'), join(cwd, 'bin', 'kept'))
    for (const command of [
      { command: 'npx', args: ['@a/kept'] },
      { command: 'kept', args: [] },
    ]) {
      expect(await probe({ ...command, cwd, env }, { methods: ['program'] })).toMatchObject(found)
    }
  })

  test.each([
    ['another version', ['npx', '@a/kept@2.0.0']],
    ['no file', ['node', '-e', '1']],
    ['another language', ['uvx', 'kept']],
    ['nothing that is there', ['node', 'nowhere.js']],
  ])('are not known where there is %s', async (_, [command = '', ...args]) => {
    const verdict = await probe({ command, args, cwd: folderWith(installed) }, { methods: ['program'] })
    expect(verdict.state).toBe('UNKNOWN')
  })
})
