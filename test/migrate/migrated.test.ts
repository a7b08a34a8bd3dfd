/** Servers of the SDKs and of FastMCP, moved: what becomes of their text, and that clients see no difference. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readText, root } from '../../scripts/repository.ts'
import { type ClientCall, type ClientVersion, usedBy } from './fixtures/calls.ts'
import { moved } from './fixtures/project.ts'

const VERSIONS: readonly ClientVersion[] = ['v1', 'v2']

const tool = (name: string, args: Record<string, unknown> = {}): ClientCall => ['callTool', { name, arguments: args }]
const resource = (uri: string): ClientCall => ['readResource', { uri }]
const prompt = (name: string, args: Record<string, string>): ClientCall => ['getPrompt', { name, arguments: args }]

const PATHS: Readonly<Record<string, Readonly<Record<'before' | 'after', string>>>> = {
  v1: { before: 'examples/migrate/v1/before.ts', after: 'examples/migrate/v1/after.ts' },
  'v1-low-level': {
    before: 'examples/migrate/v1-low-level/before.ts',
    after: 'examples/migrate/v1-low-level/after.ts',
  },
  v2: { before: 'examples/migrate/v2/before.ts', after: 'examples/migrate/v2/after.ts' },
  fastmcp: { before: 'examples/migrate/fastmcp/before.ts', after: 'examples/migrate/fastmcp/after.ts' },
}

/** What is called of each. */
const SERVERS: Readonly<Record<string, readonly ClientCall[]>> = {
  v1: [
    tool('read_ticket', { id: '1' }),
    tool('count_tickets'),
    tool('close_ticket', { id: '1' }),
    tool('summarize', { id: '1' }),
    prompt('triage', { team: 'doors' }),
    resource('tickets://all'),
    resource('tickets://2'),
    ['complete', { ref: { type: 'ref/prompt', name: 'triage' }, argument: { name: 'team', value: 'd' } }],
  ],
  'v1-low-level': [tool('add', { a: 1, b: 2 }), tool('year')],
  v2: [tool('list_rooms'), prompt('party', { guests: '3' }), resource('rooms://all')],
  fastmcp: [
    tool('scale', { grams: 2, by: 3 }),
    tool('cook', { dish: 'soup' }),
    resource('recipes://all'),
    resource('recipes://soup'),
  ],
}

describe.each(Object.entries(SERVERS))('the server examples/migrate/%s', (name, calls) => {
  const path = (state: 'before' | 'after'): string => PATHS[name]?.[state] ?? ''

  test('becomes the one that stands beside it, and nothing is left by hand', () => {
    const { text, left } = moved({ 'server.ts': readText(path('before')) })
    expect(left).toEqual([])
    const formatted = execFileSync(
      process.execPath,
      [join(root, 'node_modules/.bin/biome'), 'format', '--stdin-file-path=server.ts'],
      {
        input: text('server.ts'),
        encoding: 'utf8',
        cwd: root,
      },
    )
    expect(formatted).toBe(readText(path('after')))
  })

  test.each(VERSIONS)('answers the official client %s as before', async (version) => {
    const [before, after] = await Promise.all([
      usedBy(version, path('before'), calls),
      usedBy(version, path('after'), calls),
    ])
    expect(after).toEqual(before)
  })
})

test.each(VERSIONS)(
  'a question that version 2 of the SDK pushes is asked of the client %s in either era',
  async (version) => {
    const used = await usedBy(version, 'examples/migrate/v2/after.ts', [tool('book_room', { room: 'blue' })])
    expect(JSON.stringify(used)).toContain('The blue room is booked.')
  },
)

test('package.json loses the SDK that is no longer used, and gets what the moved files import', () => {
  const { text } = moved({
    'server.ts': readText('examples/migrate/v1/before.ts'),
    'package.json': '{\n    "dependencies": { "@modelcontextprotocol/sdk": "^1.30.0", "zod": "^3.25.0" }\n}\n',
  })
  expect(JSON.parse(text('package.json')).dependencies).toEqual({
    '@modelcontextprotocol/client': '~2.4.0',
    pannier: '^0.1.0',
    zod: '^4.2.0',
  })
  expect(text('package.json')).toMatch(/^\{\n {4}"dependencies"/)
})

test('names that a file has already get others, and parts that nothing touches stay to the byte', () => {
  const { text, left } = moved({
    'server.ts': [
      "import { createServer } from 'node:http'",
      "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';",
      'export const http  =  createServer() // two spaces',
      "export function make(): McpServer { return new McpServer({ name: 'a', version: '1' }); }",
    ].join('\n'),
  })
  expect(left).toEqual([])
  expect(text('server.ts')).toContain(
    "import { type Server, createServer as createPannierServer } from 'pannier/server';",
  )
  expect(text('server.ts')).toContain('export const http  =  createServer() // two spaces')
  expect(text('server.ts')).toContain(
    "function make(): Server { return createPannierServer({ name: 'a', version: '1' }); }",
  )
})

test('a server that one file makes and others fill is moved in all of them', () => {
  const { text, left, run } = moved({
    'src/index.ts': [
      "import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'",
      "import { makeServer } from './server.js'",
      'const { server } = makeServer()',
      'await server.connect(new StdioServerTransport())',
    ].join('\n'),
    'src/server.ts': [
      "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'",
      "import { addTools } from './tools.js'",
      'export const makeServer = () => {',
      "  const server = new McpServer({ name: 'a', version: '1' })",
      '  addTools(server)',
      '  return { server }',
      '}',
    ].join('\n'),
    'src/tools.ts': [
      "import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'",
      "import { fields } from './fields.js'",
      "const config = { description: 'Adds', inputSchema: fields }",
      'const add = async ({ a }: { a: number }) => ({ content: [{ type: "text" as const, text: String(a) }] })',
      'export function addTools(server: McpServer) {',
      "  server.registerTool('add', config, add)",
      '}',
    ].join('\n'),
    'src/fields.ts': "import { z } from 'zod'\nexport const fields = { a: z.number() }\n",
  })
  expect(left).toEqual([])
  expect(run.counts.tools).toBe(1)
  expect(text('src/index.ts')).toContain('await server.stdio()')
  expect(text('src/tools.ts')).toContain("const config = { description: 'Adds', input: z.object(fields) }")
  expect(text('src/tools.ts')).toContain("import * as z from 'zod'")
  expect(text('src/tools.ts')).toContain("server.tool('add', config, add)")
})
