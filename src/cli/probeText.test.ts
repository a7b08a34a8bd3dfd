import type { Verdict } from '../probe/index.ts'
import { expect, test } from 'vitest'
import { explainText } from './explainText.ts'
import { probeMarkdown } from './probeMarkdown.ts'
import { probeTable, probeText } from './probeText.ts'

const verdict: Verdict = {
  state: 'STATELESS',
  message: 'It answers | [tools](x) <b>alone</b>.',
  confidence: 0.99,
  level: 'high',
  decidedBy: 'era',
  details: {},
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

decided by  its era; 99 % sure (high)
era         stateless: 2026-07-28
server      example 1.0.0
asked       1 request, 12 ms

Methods:
  1 sequential connection test  not used    known to be right in 99 % of cases
  2 capability score            not used    known to be right in 70 % of cases
  3 metadata heuristics         not used    known to be right in 50 % of cases

Evidence:
  era  STATELESS  It says so.

Not asked, to send few requests: resume (see --check).`)
})

test('several verdicts are told in one table, with those that could not be made', () => {
  const all = [
    { name: 'a', verdict },
    { name: 'b\u001b[31m', failure: { exitCode: 2, text: 'No.' } },
  ] as const
  expect(probeTable(all)).toBe(`SERVER  VERDICT     SURE  ERA        DECIDED BY  WHY
a       STATELESS   99 %  stateless  its era     It answers | [tools](x) <b>alone</b>.
b\ufffd[31m  not probed                               No.`)
})

test('in Markdown, what a server wrote is text and nothing else', () => {
  expect(probeMarkdown([{ name: 'a', verdict }])).toBe(`| server | verdict | sure | era | decided by | why |
|---|---|---|---|---|---|
| a | **STATELESS** | 99 % | stateless | its era | It answers \\| \\[tools\\](x) \\<b\\>alone\\</b\\>. |

### a

- era (STATELESS): It says so.`)
})

test('a message is told with its headers and the server it went to', () => {
  const exchanged = {
    direction: 'sent',
    connection: 2,
    way: 'POST http://x/',
    headers: { accept: '*/*' },
    text: '{}',
  } as const
  expect(explainText(exchanged, 'a')).toBe('> 2 POST http://x/ (a)\n    accept: */*\n    {}')
})
