import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { EventParser } from './eventStream.ts'

type Seen = readonly unknown[]

function readBy(make: (seen: unknown[]) => { feed(text: string): void }, chunks: readonly string[]): Seen {
  const seen: unknown[] = []
  const parser = make(seen)
  for (const chunk of chunks) parser.feed(chunk)
  return seen
}

const handlersTo = (seen: unknown[]) => ({
  onEvent: (event: object) => void seen.push({ ...event }),
  onRetry: (ms: number) => void seen.push(ms),
  onComment: (comment: string) => void seen.push(comment),
})
const ours = (seen: unknown[]) => new EventParser(handlersTo(seen))
const theirs = (seen: unknown[]) => createParser(handlersTo(seen))

const PIECES = [
  'data',
  'data: a',
  'data:b',
  'event: e',
  'event',
  'id: 1',
  'id:\0',
  'retry: 50',
  'retry: x',
  ': c',
  'x',
  'y: z',
  'ਊ',
]

test('reads what another parser reads, however the text is cut and its lines end', () => {
  const part = fc.constantFrom(...PIECES, '\n', '\n\n', '\r', '\r\n', '\r\r', '\r\n\r\n')
  fc.assert(
    fc.property(fc.array(fc.array(part, { maxLength: 6 }), { maxLength: 6 }), (parts) => {
      const chunks = parts.map((each) => each.join(''))
      // The last line end is not one that the next chunk may go on with.
      const whole = `${chunks.join('')}\n\n:`
      expect(readBy(ours, [...chunks, '\n\n:'])).toEqual(readBy(theirs, [whole]))
    }),
  )
})

test('a carriage return and a line feed in two chunks are one line end', () => {
  expect(readBy(ours, ['data: a\r', '\ndata: b\r', '', '\n\r', '\n'])).toEqual([
    { id: undefined, event: undefined, data: 'a\nb' },
  ])
})

test('no search begins again after every carriage return', () => {
  const searches = vi.spyOn(String.prototype, 'indexOf')
  try {
    ours([]).feed('\r'.repeat(1000) + '\u0a0a'.repeat(1000))
    expect(searches.mock.calls.filter(([what]) => what === '\r')).toEqual([])
    // One for each line, which finds its end at once, and one for the rest.
    expect(searches.mock.calls.filter(([what]) => what === '\n')).toHaveLength(1001)
  } finally {
    searches.mockRestore()
  }
})

test('an event is limited, with the line that it has not ended', () => {
  const parser = new EventParser({ onEvent() {} }, 10)
  parser.feed('data: 12345\ndata')
  parser.feed(':')
  expect(() => parser.feed('1')).toThrow('more than 10 characters')
})
