import { expect, test } from 'vitest'
import { MAX_MESSAGE_BYTES } from '../../../protocol/index.ts'
import { EventReader } from './exchange.ts'

function reading() {
  const events: string[] = []
  const sink = { event: ({ data }: { data: string }) => void events.push(data), retry() {}, end() {} }
  return { events, reader: new EventReader(sink, MAX_MESSAGE_BYTES) }
}

test('a character that is divided between chunks is whole in its event', () => {
  const { events, reader } = reading()
  const bytes = Buffer.from('data: ab\n\ndata: 5 € für 🎻\n\ndata: c\n\n')
  for (const byte of bytes) expect(reader.take(Buffer.of(byte))).toBe(true)
  expect(events).toEqual(['ab', '5 € für 🎻', 'c'])
})

test.each([1, 2, 100])(
  'a byte order mark is none of the first line, and kept elsewhere: %i bytes at a time',
  (size) => {
    const { events, reader } = reading()
    const bytes = Buffer.from('\ufeffdata: a\n\ndata: \ufeffb\ufeff\n\n')
    for (let at = 0; at < bytes.length; at += size) expect(reader.take(bytes.subarray(at, at + size))).toBe(true)
    expect(events).toEqual(['a', '\ufeffb\ufeff'])
  },
)

test('an event may have as many bytes as a message, and no more', () => {
  const { events, reader } = reading()
  const half = Buffer.alloc(MAX_MESSAGE_BYTES / 2 - 10, 'a')
  expect(reader.take(Buffer.from('data: b\n\ndata: '))).toBe(true)
  expect(reader.take(half)).toBe(true)
  expect(reader.take(half)).toBe(true)
  expect(reader.take(Buffer.from('\n\ndata: '))).toBe(true)
  expect(events.map(({ length }) => length)).toEqual([1, half.length * 2])
  expect(reader.take(half)).toBe(true)
  expect(reader.take(half)).toBe(true)
  expect(reader.take(Buffer.alloc(20, 'a'))).toBe(false)
})
