import { expect, test } from 'vitest'
import { METHODS, type Verdict } from '../../probe/index.ts'
import { explainText, meaningOf, probeTable, probeText, probeMarkdown } from './probe.ts'

const verdict: Verdict = {
  state: 'STATELESS',
  message: 'It answers | [tools](x) <b>alone</b>.',
  confidence: 0.99,
  level: 'high',
  decidedBy: 'era',
  details: {},
  protocol: { state: 'STATELESS', message: 'No.', confidence: 0.99, level: 'high', decidedBy: 'era', because: ['No.'] },
  process: { state: 'UNKNOWN', message: '', confidence: 0, level: 'low', decidedBy: 'nothing', because: [] },
  target: 'https://example.com/mcp',
  transport: 'http',
  era: 'modern',
  versions: ['2026-07-28'],
  server: { name: 'example', version: '1.0.0' },
  methods: {},
  evidence: [{ check: 'era', points: 'STATELESS', sentence: 'It says so.' }],
  notAsked: ['resume'],
  requests: 1,
  durationMs: 12,
  checkedAt: 0,
}

test('a verdict is told with its methods, its evidence and what was not asked', () => {
  expect(probeText(verdict)).toBe(`STATELESS  https://example.com/mcp
It answers | [tools](x) <b>alone</b>.

so          a load balancer may send each request to any instance
protocol    needs no session (99 %)
process     not known
decided by  its era; 99 % sure (high)
era         stateless: 2026-07-28
server      example 1.0.0
asked       1 request, 12 ms

Methods:
  1 sequential connection test  not used    right on 99 % of servers
  2 capability score            not used    right on 70 % of servers
  3 metadata heuristics         not used    right on 50 % of servers
  4 what its tools say          not used    right on ${Math.round(METHODS.tools.accuracy * 100)} % of servers
  5 what its files say          not used    right on ${Math.round(METHODS.program.accuracy * 100)} % of servers

Evidence:
  era  STATELESS  It says so.

Not asked, to send few requests and be quick: resume (see --check).`)
})

test('several verdicts are told in one table, with those that could not be made', () => {
  const all = [
    { name: 'a', verdict },
    { name: 'b\u001b[31m', failure: { exitCode: 2, text: 'No.' } },
  ] as const
  expect(
    probeTable(all),
  ).toBe(`SERVER  VERDICT     SURE  PROTOCOL                 PROCESS    ERA        CLIENTS  DECIDED BY  WHY
a       STATELESS   99 %  needs no session (99 %)  not known  stateless           its era     It answers | [tools](x) <b>alone</b>.
b\ufffd[31m  not probed                                                                            No.`)
})

test('on a narrow screen, sentences go on below themselves, and reasons below their servers', () => {
  const message = 'It answers tools/list on a connection without initialize (9 tools).'
  const long = { ...verdict, message, evidence: [{ ...verdict.evidence[0], sentence: message }] } as Verdict
  const all = [
    { name: 'a', verdict: long },
    { name: 'b', failure: { exitCode: 2, text: 'No.' } },
  ] as const
  expect(probeTable(all, 50)).toBe(`SERVER  VERDICT     SURE  ERA
a       STATELESS   99 %  stateless
  It answers tools/list on a connection without
  initialize (9 tools).
b       not probed
  No.`)
  expect(probeTable(all, 200)).toBe(probeTable(all))
  expect(probeText(long, 60)).toContain(`
  era  STATELESS  It answers tools/list on a connection
                  without initialize (9 tools).
`)
})

test.each<[Partial<Verdict>, RegExp]>([
  [{ state: 'STATEFUL' }, /same one$/],
  [{ state: 'STATEFUL', transport: 'stdio' }, /process of its own/],
  [{ state: 'UNKNOWN' }, /--header/],
  [
    { declared: { session: { poolable: false } } },
    /one instance cannot continue the calls of another \(poolable: false\).*PANNIER_KEYS/,
  ],
  [
    { evidence: [{ check: 'replica', points: 'STATEFUL', sentence: 'No.', details: { isAccepted: false } }] },
    /do not accept what another one gave out/,
  ],
])('%j is told with what to do, in words that no script takes for a verdict', (part, meaning) => {
  expect(meaningOf({ ...verdict, ...part })).toMatch(meaning)
  expect(meaningOf({ ...verdict, ...part })).not.toMatch(/STATE(LESS|FUL)|UNKNOWN/)
})

test('in Markdown, what a server wrote is text and nothing else', () => {
  expect(
    probeMarkdown([{ name: 'a', verdict }]),
  ).toBe(`| server | verdict | sure | protocol | process | era | decided by | why |
|---|---|---|---|---|---|---|---|
| a | **STATELESS** | 99 % | needs no session (99 %) | not known | stateless | its era | It answers \\| \\[tools\\](x) \\<b\\>alone\\</b\\>. |

### a

- era (STATELESS): It says so.`)
})

test('in Markdown, words of a server make no links, call nobody and hide nothing', () => {
  const message = 'See https://x.example, www.x.example & mail @team, $a$, ~b~, <img src=x>, &lt;\u001b[31m\n# no'
  const [, , row] = probeMarkdown([{ name: '@a\u001b', verdict: { ...verdict, message, evidence: [] } }]).split('\n')
  expect(row).toContain(
    'See https:\u2060//x.example, www\u2060.x.example \\& mail @\u2060team, \\$a\\$, \\~b\\~, \\<img src=x\\>, \\&lt;\ufffd\\[31m \\# no |',
  )
  expect(row).toMatch(/^\| @a\ufffd \|/)
})

test('a message is told with its headers and the server it went to', () => {
  const exchanged = {
    direction: 'sent',
    connection: 2,
    way: 'POST http://x/',
    headers: { accept: '*/*' },
    text: '{}',
  } as const
  expect(explainText(exchanged, 'a\u001b[2J')).toContain(' (a\ufffd[2J)')
  expect(explainText(exchanged, 'a')).toBe('> 2 POST http://x/ (a)\n    accept: */*\n    {}')
})
