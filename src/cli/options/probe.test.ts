import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type ProbeFlags, readProbeOptions, refuseForProgram, refuseForSeveral, readProbeTargets } from './probe.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-probe-options-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (flags: Partial<ProbeFlags>) => readProbeOptions({ order: 'usual', ...flags }, { TOKEN: 'secret' })

function fileWith(content: unknown): string {
  const path = join(folder, 'file.json')
  writeFileSync(path, JSON.stringify(content))
  return path
}

test('what is given is handed on, in the units of the library', async () => {
  const flags: Partial<ProbeFlags> = {
    header: ['X-Key: ${TOKEN}'],
    bearerEnv: 'TOKEN',
    otherHeader: ['X-Key: other'],
    timeout: '1.5',
    listen: '2',
    expireAfter: '3',
    method: ['1', '3', '1'],
    check: ['resume', 'era'],
    replica: ['https://example.com/'],
    call: 'tool',
    arguments: '{"a":1}',
  }
  expect(await read(flags)).toEqual({
    headers: { 'X-Key': 'secret', authorization: 'Bearer secret' },
    otherHeaders: { 'X-Key': 'other' },
    order: 'usual',
    timeoutMs: 1500,
    listenMs: 2000,
    expireMs: 3000,
    methods: ['sequential', 'metadata'],
    checks: ['resume', 'era'],
    replicas: ['https://example.com/'],
    call: { name: 'tool', arguments: { a: 1 } },
  })
  expect(await read({ check: ['all'] })).toMatchObject({ checks: 'all' })
  expect(await read({ check: ['era', 'all'] })).toMatchObject({ checks: 'all' })
  expect(await read({ check: ['none'] })).toMatchObject({ checks: 'none' })
})

test.each<[Partial<ProbeFlags>, string]>([
  [{ json: true, markdown: true }, 'Give --json or --markdown, not both.'],
  [{ arguments: '{}' }, '--arguments are for the tool of --call.'],
  [{ call: 'a', arguments: '[]' }, '--arguments takes a JSON object.'],
  [{ listen: '0' }, '--listen takes a number of seconds from 0.001 to 2147483.'],
  [{ listen: '1e9' }, '--listen takes a number of seconds'],
  [{ check: ['none', 'era'] }, '--check none cannot be combined with other checks.'],
  [{ expireAfter: 'soon' }, '--expire-after takes a number of seconds'],
  [{ timeout: '-1' }, '--timeout takes a number of seconds above 0.'],
  [{ method: ['6'] }, '--method is 1, 2, 3, 4 or 5.'],
  [{ bearerEnv: 'NONE' }, '--bearer-env NONE: this variable is not set.'],
  [{ known: 'no-such-file' }, 'Cannot read no-such-file, the file given with --known (ENOENT); check its path.'],
])('%j is refused with what to do', async (flags, message) => {
  await expect(read(flags)).rejects.toThrow(message)
})

test('known servers are read from a file, and what is none is refused', async () => {
  const known = [{ match: 'x', state: 'STATEFUL', confidence: 0.5, because: 'I know.' }]
  expect(await read({ known: fileWith(known) })).toMatchObject({ known })
  const others = [
    {},
    [{ match: '', state: 'STATEFUL' }],
    [{ match: 'x', state: 'maybe' }],
    [{ match: 'x', state: 'STATEFUL', confidence: 2 }],
  ]
  for (const other of others)
    await expect(read({ known: fileWith(other) })).rejects.toThrow('The known servers must be a list of')
})

test('what is meant for one server is refused for several', () => {
  for (const flag of ['header', 'otherHeader', 'replica'] as const) {
    expect(() => refuseForSeveral({ order: 'usual', [flag]: ['x'] })).toThrow('is for one server')
  }
  for (const flag of ['bearerEnv', 'call'] as const) {
    expect(() => refuseForSeveral({ order: 'usual', [flag]: 'x' })).toThrow('is for one server')
  }
  expect(() => refuseForSeveral({ order: 'usual', timeout: '1' })).not.toThrow()
})

test('what is for HTTP is refused with a program', () => {
  for (const flag of ['header', 'otherHeader', 'replica'] as const) {
    expect(() => refuseForProgram({ order: 'usual', [flag]: ['x'] })).toThrow('is for servers over HTTP')
  }
  expect(() => refuseForProgram({ order: 'usual', bearerEnv: 'TOKEN' })).toThrow(
    '--bearer-env is for servers over HTTP',
  )
  expect(() => refuseForProgram({ order: 'usual', call: 'tool' })).not.toThrow()
})

test('a target is one server, and a file is all of its servers', async () => {
  const file = fileWith({ mcpServers: { a: { url: 'http://x/' }, b: {} } })
  const url = 'https://example.com/mcp'
  expect(await readProbeTargets([url], undefined)).toEqual({ targets: [{ name: url, target: url }], isOne: true })
  const named = `${file}#a`
  expect(await readProbeTargets([named], undefined)).toMatchObject({ targets: [{ target: named }], isOne: true })
  expect(await readProbeTargets([file, url], undefined)).toEqual({
    targets: [
      { name: 'a', target: `${file}#a` },
      { name: 'b', target: `${file}#b` },
      { name: url, target: url },
    ],
    isOne: false,
  })
  const program = await readProbeTargets([], ['node', 'server.js'])
  expect(program).toMatchObject({ targets: [{ name: 'node server.js', target: { args: ['server.js'] } }], isOne: true })
  await expect(readProbeTargets([], undefined)).rejects.toThrow('TARGET is missing')
  await expect(readProbeTargets([url], ['node'])).rejects.toThrow('not both')
  await expect(readProbeTargets([fileWith({ servers: {} })], undefined)).rejects.toThrow('The file names no servers.')
})

test.each([
  ['a folder', () => folder, 'is a folder; name the mcp.json file in it.'],
  ['a script', () => import.meta.filename, 'is no .json file. To start a program, write --'],
  ['a word', () => 'node', 'To start a program, write -- before it: -- node …'],
  ['a host', () => 'localhost:3000/mcp', 'Write the whole address: http://localhost:3000/mcp'],
])('%s is no target, and it is said what would be', async (_, operand, advice) => {
  await expect(readProbeTargets([operand()], undefined)).rejects.toThrow(advice)
})

test('a witness is a tool, and perhaps a JSON object', async () => {
  const read = async (witness: string) => (await readProbeOptions({ order: 'usual', witness }, {})).witness
  expect(await read('count {"by": 1}')).toEqual({ name: 'count', arguments: { by: 1 } })
  expect(await read('count')).toEqual({ name: 'count', arguments: {} })
  for (const wrong of ['', 'count [1]', 'count {', 'count 1']) {
    await expect(read(wrong)).rejects.toThrow('--witness takes a tool and a JSON object')
  }
})
