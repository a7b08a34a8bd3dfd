import { expect, test } from 'vitest'
import { catalogueText, laterText, type ShownGateway, servedText } from './served.ts'

const SHARED = { isShared: true, keepsState: false, isRejected: false }

interface Row {
  readonly name?: string
  readonly version?: string
  readonly url?: string
  readonly state?: string
  readonly verdict?: { readonly state: string; readonly confidence: number }
  readonly condition?: object
  readonly withheld?: readonly string[]
  readonly isShared?: boolean
  readonly isRejected?: boolean
  readonly tools?: number
  readonly startedInMs?: number
  readonly unmatched?: { readonly allow: readonly string[]; readonly deny: readonly string[] }
}

function backend({ name = 'files', version = '2025-11-25', tools = 3, withheld = [], ...row }: Row) {
  const { url, state = 'auto', verdict, condition = { kind: 'up' }, isShared = false, isRejected = false } = row
  const latest = { tools: Array.from({ length: tools }, (_, at) => ({ name: `t${at}` })) }
  return {
    ...SHARED,
    name,
    isShared,
    isRejected,
    config: { address: url === undefined ? { command: 'npx' } : { url }, settings: { state } },
    connector: { about: { version }, condition, startedInMs: row.startedInMs },
    prober: { verdict },
    lists: {
      latest,
      withheld: new Set(withheld),
      unmatched: row.unmatched ?? { allow: [], deny: [] },
      served: () => ({ tools: latest.tools.slice(withheld.length) }),
    },
  }
}

const GUESS = { state: 'STATELESS', confidence: 0.9 }

function gatewayOf(rows: readonly Row[], more: object = {}): ShownGateway {
  const gateway = { backends: rows.map(backend), leftOut: [], file: 'mcp.json', cellsOf: () => undefined }
  return { ...gateway, pinFaultOf: () => undefined, ...more } as unknown as ShownGateway
}

const ROWS: readonly Row[] = [
  { name: 'files', tools: 14, verdict: GUESS, startedInMs: 420 },
  { name: 'chrome', tools: 29, version: '2025-06-18', verdict: { state: 'STATEFUL', confidence: 0.9 } },
  { name: 'crm', tools: 11, version: '2026-07-28', url: 'https://crm', verdict: GUESS, isShared: true },
  { name: 'wiki', url: 'https://wiki', condition: { kind: 'down', why: 'it refuses the credentials it was sent.' } },
  { name: 'notes', tools: 8, state: 'stateful', withheld: ['t0', 't1'] },
  { name: 'mail', condition: { kind: 'starting' } },
]
const LEFT_OUT = [{ name: 'bank', problems: [{ key: 'env.KEY', sentence: 'needs the variable "KEY".' }] }]

test('what needs attention comes first, then one table, then a legend, within 80 columns', () => {
  const text = servedText(gatewayOf(ROWS, { leftOut: LEFT_OUT }), 80)
  expect(text.split('\n')).toEqual([
    'NEEDS ATTENTION',
    'wiki   not there: it refuses the credentials it was sent.',
    'notes  withheld: 2 of 8 tools',
    'bank   left out: env.KEY needs the variable "KEY".',
    'See what changed in withheld tools with: pannier gateway accept --config mcp.json',
    '',
    'SERVER  TOOLS  REVISION    STATE                SERVED BY',
    'files   14     2025-11-25  stateless (90 %)     a process per caller (0.4 s) *',
    'chrome  29     2025-06-18  stateful (90 %)      a process per caller',
    'crm     11     2026-07-28  stateless (90 %)     a request each',
    'notes   6      2025-11-25  stateful (declared)  a process per caller',
    'mail                                            starting; shown when it is up',
    '',
    'STATE: what the probe found, and how sure it is; "state" in an entry decides.',
    '* with "state": "stateless" in its entry, callers share one and save its start.',
  ])
})

test('servers that were late are shown alone, without the table', () => {
  const late = { name: 'mail', state: 'stateful' }
  const gone = { name: 'slow', condition: { kind: 'down', why: 'it has not started.' } }
  expect(laterText(gatewayOf([...ROWS.slice(0, 3), late, gone], { leftOut: LEFT_OUT }), ['mail', 'slow'])).toBe(
    [
      'Since then:',
      'NEEDS ATTENTION',
      'slow  not there: it has not started.',
      'mail  3  2025-11-25  stateful (declared)  a process per caller',
    ].join('\n'),
  )
})

test('a table without anything to explain has no legend, and one without servers is empty', () => {
  expect(servedText(gatewayOf([{ state: 'stateless', isShared: true }])).split('\n')).toHaveLength(2)
  expect(servedText(gatewayOf([]))).toBe('')
})

test('pins that cannot be used are a reason, and no command would help', () => {
  const fault = 'All tools of the server "files" are withheld, because their pins cannot be used: …'
  const text = servedText(gatewayOf([{ state: 'stateful', withheld: ['t0'] }], { pinFaultOf: () => fault }))
  expect(text).toContain(`files  ${fault}`)
  expect(text).not.toContain('gateway accept')
})

test('the command that accepts withheld definitions can be typed as it stands, whatever the file is called', () => {
  const text = servedText(gatewayOf([{ withheld: ['t0'] }], { file: 'my mcp.json' }), 40)
  expect(text).toContain("tools with: pannier gateway accept --config 'my mcp.json'\n")
})

test('a pattern that fits no tool needs attention: a denied tool with another name is served', () => {
  const unmatched = { allow: [], deny: ['wirte_*'] }
  expect(servedText(gatewayOf([{ unmatched }]))).toMatch(/^NEEDS ATTENTION\nfiles {2}"deny": "wirte_\*" fits none/)
})

test('a server that is refused needs attention', () => {
  const text = servedText(gatewayOf([{ state: 'stateful', isRejected: true }]))
  expect(text).toMatch(/^files {2}refused: it keeps something.*\n\nSERVER.*\nfiles .* not served$/m)
})

test('a revision that a server makes up adds no lines and no control sequences to the table', () => {
  const version = '2025-06-18\u001B]0;title\u0007\u001B[31m\nWorker 1 ended.'
  const lines = servedText(gatewayOf([{ state: 'stateful', version }])).split('\n')
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain('2025-06-18\uFFFD]0;title…  stateful (declared)')
})

test('what a catalogue lists is a sentence, with what a search saves', () => {
  expect(catalogueText({ path: '/views/one', tools: 1 })).toBe('/views/one: 1 tool.')
  expect(catalogueText({ path: '/mcp', tools: 1234, saved: { before: 98_412, after: 2311 } })).toBe(
    '/mcp: 1,234 tools, found through 3. A model reads 2,311 bytes instead of 98,412.',
  )
})
