/** What cannot be moved stays as it is, and the list at the end says where it is. */
import { describe, expect, test } from 'vitest'
import { moved } from './fixtures/project.ts'

const V1 = `import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
const server = new McpServer({ name: 'a', version: '1' })
`
const V2 = `import { McpServer, createMcpHandler } from '@modelcontextprotocol/server'
const server = new McpServer({ name: 'a', version: '1' })
`
const FAST = `import { FastMCP } from 'fastmcp'
const server = new FastMCP({ name: 'a', version: '1' })
`

/** The line after the three or two of the head, what is said of it, and a part that must still be there. */
const PLACES: readonly (readonly [code: string, what: string, kept: string])[] = [
  [
    `${V1}const handle = server.registerTool('t', { description: 'd' }, async () => ({ content: [] }))`,
    'what registering the tool t returns',
    "server.registerTool('t', { description: 'd' }",
  ],
  [
    `${V1}server.registerTool('t', { ...options }, async () => ({ content: [] }))`,
    'the tool t',
    'server.registerTool(',
  ],
  [
    `${V1}server.registerTool('t', { description: 'd', inputSchema: fields() .x }, async () => ({ content: [] }))`,
    'the schema of the tool t',
    'input: fields() .x',
  ],
  [
    `${V1}server.registerTool('t', { description: 'd' }, async (extra) => ({ content: [extra.sessionId] }))`,
    'sessionId in a handler',
    '(_args, extra)',
  ],
  [
    `${V1}server.registerTool('t', { description: 'd' }, async (extra) => help(extra))`,
    'extra in a handler',
    'help(extra)',
  ],
  [
    `${V1}server.registerTool('t', { description: 'd' }, async () => { for (const a of list) await server.server.elicitInput({ message: a, requestedSchema: {} }); return { content: [] } })`,
    'server.server.elicitInput',
    'server.server.elicitInput({ message: a',
  ],
  [
    `${V1}server.registerTool('t', { description: 'd' }, async () => { await server.server.elicitInput({ mode: 'url', url, message }); return { content: [] } })`,
    'server.server.elicitInput',
    "mode: 'url'",
  ],
  [
    `${V1}server.registerTool('t', {}, async () => ({ content: [] }))`,
    'the description of the tool t',
    "description: 't'",
  ],
  [
    `${V1}server.registerResource('r', new ResourceTemplate('a://{b}', { list: all }), {}, async () => ({ contents: [] }))`,
    'the list of a resource template',
    "server.resourceTemplate('a://{b}'",
  ],
  [`${V1}server.server.oninitialized = () => {}`, 'server.oninitialized', 'server.server.oninitialized = '],
  [`${V1}await server.connect(new OwnTransport())`, 'connecting to a transport', 'server.connect(new OwnTransport())'],
  [
    `${V1}await server.sendToolListChanged().catch(() => {})`,
    'server.sendToolListChanged',
    'server.sendToolListChanged().catch',
  ],
  [
    `${V2}server.server.setRequestHandler('resources/subscribe', () => ({}))`,
    'the handler of resources/subscribe',
    "setRequestHandler('resources/subscribe'",
  ],
  [`${V2}export default createMcpHandler((request) => server)`, 'createMcpHandler', 'createMcpHandler((request)'],
  [
    `${FAST}server.addTool({ name: 't', description: 'd', timeoutMs: 5, execute: async () => '' })`,
    "the option timeoutMs of the tool 't'",
    'timeoutMs: 5',
  ],
  [
    `${FAST}server.addTool({ name: 't', description: 'd', execute: async (_, { session }) => session.id })`,
    'session.id in a handler',
    'session.id',
  ],
  [`${FAST}server.addTool({ name: 't', description: 'd', execute: run })`, "the tool 't'", 'execute: run'],
  [`${FAST}server.on('connect', () => {})`, 'server.on', "server.on('connect'"],
  [`${FAST}await server.start({ transportType: kind })`, 'server.start', 'transportType: kind'],
]

test.each(PLACES)('%s', (code, what, kept) => {
  const { left, text } = moved({ 'server.ts': code })
  const line = code.split('\n').length
  expect(left).toContain(`server.ts:${line} ${what}`)
  expect(text('server.ts')).toContain(kept)
})

test('work that a question repeats in each round is named by its line', () => {
  const { run } = moved({
    'server.ts': `${V1}server.registerTool('t', { description: 'd', inputSchema: {} }, async () => {
  await reserve()
  const answer = await server.server.elicitInput({ message: 'Sure?', requestedSchema: {} })
  return { content: [] }
})`,
  })
  const [finding] = run.project.findings.all
  expect(finding).toMatchObject({ what: 'work before a question', line: 4 })
  expect(finding?.why).toContain('in line 5')
})

test('a result that may not fit an output schema is named, because only the compiler can tell', () => {
  const { left } = moved({
    'server.ts': `${V1}server.registerTool('t', { description: 'd', outputSchema: { n: z.number() } }, async () => {
  if (failed) return result
  return { content: [], structuredContent: { n: 1 } }
})`,
  })
  expect(left).toEqual(['server.ts:5 a result of the tool t'])
})

test('a result type beside an output schema is named, because it is too wide for the compiler', () => {
  const { left } = moved({
    'server.ts': `${V1}server.registerTool('t', { description: 'd', outputSchema: { n: z.number() } }, async (): Promise<Result> => ({ content: [], structuredContent: { n: 1 } }))`,
  })
  expect(left).toEqual(['server.ts:4 the type of a result of the tool t'])
})

test('tests of a server stay as they are', () => {
  const files = { 'server.test.ts': V1 }
  const { changes, left } = moved(files)
  expect([changes, left]).toEqual([[], ['server.test.ts:1 a test of the SDK’s server']])
})

test('a file that cannot be parsed stays, and the rest is moved', () => {
  const { left, changes } = moved({ 'broken.ts': `${V1}const =`, 'server.ts': V1 })
  expect(left).toEqual(['broken.ts:1 the file'])
  expect(changes.map(({ path }) => path)).toContain('server.ts')
})

describe('handlers in explicit style', () => {
  test('keep their form, with the names of Pannier', () => {
    const { text } = moved({
      'server.ts': `import { inputRequired, McpServer, type InputRequiredResult, type CallToolResult } from '@modelcontextprotocol/server'
const server = new McpServer({ name: 'a', version: '1' })
server.registerTool('t', { description: 'd' }, async (ctx): Promise<CallToolResult | InputRequiredResult> => {
  if (ctx.mcpReq.inputResponses?.['sure'] === undefined)
    return inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: 'Sure?', requestedSchema: form }) } })
  return { content: [] }
})`,
    })
    expect(text('server.ts')).toContain("ctx.inputResponses?.['sure'] === undefined")
    expect(text('server.ts')).toContain(
      "inputRequired({ inputRequests: { sure: { message: 'Sure?', schema: form } } })",
    )
    expect(text('server.ts')).toContain('Promise<CallToolResult | InputRequired>')
    expect(text('server.ts')).toContain(
      "import { type InputRequired, type Server, createServer, inputRequired } from 'pannier/server'".replace(
        ' type Server,',
        '',
      ),
    )
  })
})
