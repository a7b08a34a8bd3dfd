import { expect, test } from 'vitest'
import { gatewayConfigOf } from '../../gateway/config/index.ts'
import { changesText, gatewayConfigText, usualPlacesText } from './gateway.ts'

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
