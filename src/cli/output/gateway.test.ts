import { expect, test } from 'vitest'
import { gatewayConfigOf } from '../../gateway/config/index.ts'
import { catalogueText, changesText, gatewayConfigText, servedText, usualPlacesText, withheldText } from './gateway.ts'

const secret = 'hunter2'

test('servers are a table with what differs from the defaults, and without credentials', async () => {
  const config = await gatewayConfigOf(
    {
      mcpServers: {
        files: { command: 'npx', args: ['-y', 'files-server', '--token', secret] },
        a_b: {
          url: `https://a.example/mcp?key=${secret}`,
          headers: { 'X-Key': secret },
          pannier: { state: 'stateless', tools: { deny: ['delete_*', 'drop'] } },
        },
        a: { type: 'sse', url: 'https://old.example/sse', pannier: { prefix: false, timeoutSeconds: 5 } },
        off: { command: '${ABSENT}', disabled: true },
        lost: { command: '${ABSENT}' },
      },
      gateway: {
        catalogue: 'search',
        views: { support: {} },
        admin: { token: secret },
        definitions: 'pin',
        postgres: `postgres://me:${secret}@db/one`,
      },
    },
    { env: {} },
  )
  const lines = gatewayConfigText(config).split('\n')
  expect(lines.map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
    'SERVER | TRANSPORT | ADDRESS | NAMES | SETTINGS',
    'files | stdio | npx files-server | files_…',
    'a_b | http | https://a.example/mcp | a_b_… | state: stateless, tools.deny: delete_* drop',
    'a | sse | https://old.example/sse | as they are | timeoutSeconds: 5',
    'off | disabled | ${ABSENT}',
    'lost | not usable | lost_…',
    '',
    'gateway: views: support, catalogue: search, definitions: pin, admin.token: set, postgres: set',
  ])
})

test('what another file changes is one line, with names', async () => {
  const config = (servers: object, gateway = {}) => gatewayConfigOf({ servers, gateway }, { env: {}, folder: '/f' })
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`n${at}`, { command: 'n' }]))
  const before = await config({ a: { command: 'a' }, gone: { command: 'g' }, ...many })
  const after = await config({ a: { command: 'b' }, 'new\n1': { command: 'g' }, ...many }, { catalogue: 'search' })
  expect(changesText(before, after)).toBe(
    '1 added (new 1), 1 removed (gone), 1 changed (a), 9 unchanged (n0, n1, n2, n3, n4 and 4 more); gateway.catalogue changed.',
  )
  expect(changesText(before, before)).toBe('11 unchanged (a, gone, n0, n1, n2 and 6 more).')
  expect(changesText(await config({}), await config({}))).toBe('no servers before and after.')
})

test('without files in the usual places the program says what to name', () => {
  expect(usualPlacesText([])).toMatch(/^Name the mcp\.json file/)
  const place = { program: 'Cursor', file: '/x', servers: { problem: 'no' }, command: 'pannier gateway /x' }
  expect(usualPlacesText([place])).toMatch(/\nCursor +unreadable +pannier gateway \/x$/)
})

test('what a catalogue lists is a sentence, with what a search saves', () => {
  expect(catalogueText({ path: '/views/one', tools: 1 })).toBe('/views/one: 1 tool.')
  expect(catalogueText({ path: '/mcp', tools: 1234, saved: { before: 98_412, after: 2311 } })).toBe(
    '/mcp: 1,234 tools, found through 3. A model reads 2,311 bytes instead of 98,412.',
  )
})

test('below the table is the command that accepts withheld definitions, as it can be typed', () => {
  const withheld = (...tools: readonly string[]) => ({ lists: { withheld: new Set(tools) } })
  const textOf = (gateway: object) => withheldText(gateway as Parameters<typeof withheldText>[0])
  expect(textOf({ file: 'my mcp.json', backends: [withheld('a'), withheld()] })).toEqual([
    "1 tool is withheld. See what changed with: pannier gateway accept --config 'my mcp.json'",
  ])
  expect(textOf({ file: 'mcp.json', backends: [withheld('a'), withheld('b', 'c')] })).toEqual([
    '3 tools are withheld. See what changed with: pannier gateway accept --config mcp.json',
  ])
  expect(textOf({ file: 'mcp.json', backends: [withheld()] })).toEqual([])
})

test('a revision that a server makes up adds no lines and no control sequences to the table', () => {
  const backend = {
    name: 'odd',
    config: { address: { command: 'odd' }, settings: { state: 'stateful' } },
    connector: {
      about: { version: '2025-06-18\u001B]0;title\u0007\u001B[31m\nWorker 1 ended.' },
      condition: { kind: 'up' },
    },
    prober: {},
    lists: { served: () => ({ tools: [] }), withheld: new Set() },
  }
  const gateway = { backends: [backend], leftOut: [], cellsOf: () => undefined }
  const lines = servedText(gateway as unknown as Parameters<typeof servedText>[0]).split('\n')
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain('2025-06-18\uFFFD]0;title…  stateful (declared)')
})
