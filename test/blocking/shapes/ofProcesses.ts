/** What servers on standard input and output write: lines of all lengths. */
import { CHARS } from './large.ts'

/** A line that a process writes itself, because it may be larger than a request. In its end, ID stands for that of the call. */
export interface WrittenLine {
  readonly begin: string
  readonly part: string
  readonly times: number
  /** Where it has no ID, an answer follows. */
  readonly end: string
}

/** `answer`: part of what the client gets. */
export type ProcessShape = readonly [what: string, answer: string, line: WrittenLine]

/** Far more than a message may have. */
const FAR = 60_000_000

const begin = '{"jsonrpc":"2.0","result":{"content":[],"structuredContent":{"a":'
const end = '}},"id":ID}'
const filled = (part: string, chars: number) => ({ part, times: Math.floor(chars / part.length) })
const list = (part: string, chars: number): WrittenLine => ({
  begin: `${begin}[`,
  ...filled(part, chars),
  end: `0]${end}`,
})
const text = (part: string, chars: number): WrittenLine => ({
  begin: `${begin}"`,
  ...filled(part, chars),
  end: `"${end}`,
})
const stray = (part: string, chars: number): WrittenLine => ({ begin: '', ...filled(part, chars), end: '' })

export const OF_PROCESSES: readonly ProcessShape[] = [
  ['a text', 'xxx', text('x', CHARS)],
  ['quotes', '\\"', text('\\"', CHARS)],
  ['Chinese', '字', text('字', CHARS / 3)],
  ['many numbers', '11,11', list('11,', 57_000)],
  ['empty objects', 'keys and values', list('{},', CHARS)],
  ['deep nesting', 'nests deeper', { begin, part: '[', times: 5000, end: `${']'.repeat(5000)}${end}` }],
  ['60 MB of empty objects', 'longer than', list('{},', FAR)],
  ['60 MB of text', 'longer than', text('x', FAR)],
  ['60 MB of quotes', 'longer than', text('\\"', FAR)],
  ['60 MB of Chinese', 'longer than', text('字', FAR / 3)],
  ['60 MB that are no message', 'said', stray('{},', FAR)],
  ['a million lines that are no messages', 'said', stray('{}\n', 3_000_000)],
  [
    '10,000 notifications',
    'jsonrpc',
    stray('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}\n', 870_000),
  ],
]
