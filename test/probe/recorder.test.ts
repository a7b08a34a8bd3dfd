/** How a recorded server is started, and what is kept of its list. */
import { expect, test } from 'vitest'
import { listingOf } from '../../probe-corpus/recorder/listing.ts'
import { launchOf, programOf } from '../../probe-corpus/recorder/package.ts'

test.each([
  [{ version: '1.0.0', bin: 'a.js' }, 'a.js'],
  [{ version: '1.0.0', bin: { setup: 'setup.js', 'some-mcp': 'mcp.js' } }, 'mcp.js'],
  [{ version: '1.0.0', bin: { only: 'only.js' } }, 'only.js'],
  [{ version: '1.0.0', main: 'main.js' }, 'main.js'],
])('of the programs in %j it starts %s', (manifest, program) => {
  expect(programOf(manifest)).toBe(program)
})

test('variables that are only named get invented values that fit their names', () => {
  const env = ['API_KEY', 'BASE_URL', 'DB_HOST', 'DB_PORT', 'MODE=http=1']
  expect(launchOf('/packages/a', 'a.js', { name: 'a', args: ['--stdio'], env })).toEqual({
    args: ['/packages/a/a.js', '--stdio'],
    env: {
      API_KEY: 'invented',
      BASE_URL: 'http://127.0.0.1:9',
      DB_HOST: '127.0.0.1',
      DB_PORT: '9',
      MODE: 'http=1',
    },
  })
})

/** A program whose list has two pages. */
const LISTING = `
  const tool = (name) => ({
    name,
    title: 'Not kept',
    description: name.repeat(1000),
    inputSchema: { type: 'object', properties: { mode: { type: 'string', description: 'Which.', enum: ['a', 'b'] } } },
    annotations: { readOnlyHint: true },
  })
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const result = method === 'initialize'
      ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' }, instructions: 'Call x first.' }
      : params.cursor ? { tools: [tool('y')] } : { tools: [tool('x')], nextCursor: 'more' }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })`

test('what a program lists is kept page by page, cut down to what the probe reads', async () => {
  const program = { command: process.execPath, args: ['-e', LISTING], env: {}, cwd: process.cwd() }
  const kept = (name: string) => ({
    name,
    description: name.repeat(500),
    inputSchema: { properties: { mode: { description: 'Which.', enum: ['a', 'b'] } } },
    annotations: { readOnlyHint: true },
  })
  expect(await listingOf(program)).toEqual({
    capabilities: { tools: {} },
    instructions: 'Call x first.',
    tools: [kept('x'), kept('y')],
  })
})
