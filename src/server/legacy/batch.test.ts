import { describe, expect, test } from 'vitest'
import type { HttpReply, Sink } from '../http/exchange.ts'
import { answerBatch, assertBatch } from './batch.ts'

const VERSION = '2025-03-26'
const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })
const note = { jsonrpc: '2.0', method: 'notifications/initialized' }

/** A sink that remembers what goes out. */
function sink() {
  const out: string[] = []
  const given: Sink = {
    disconnected: false,
    setHeaders() {},
    open: () => void out.push('open'),
    write: (text) => void out.push(text),
    end: () => void out.push('end'),
    onDisconnect() {},
  }
  return { out, given }
}

test.each([
  ['none', 0, VERSION, false],
  ['one', 1, VERSION, true],
  ['a hundred', 100, VERSION, true],
  ['more', 101, VERSION, false],
  ['one, in another revision', 1, '2025-06-18', false],
])('a batch of %s', (_, length, version, isValid) => {
  const check = (): void => assertBatch(Array.from({ length }), version)
  if (isValid) check()
  else expect(check).toThrow()
})

describe('the responses of a batch', () => {
  const CHARS = 64 * 1024 * 1024
  const sized = (chars: number): HttpReply => ({ status: 200, body: 'x'.repeat(chars) })
  const lengths = async (...sizes: number[]): Promise<(number | string)[]> => {
    const post = async ({ id }: { id?: unknown }) => sized(sizes[Number(id)] ?? 0)
    const reply = await answerBatch(
      sizes.map((_, id) => ping(id)),
      sink().given,
      post as never,
    )
    return String(reply?.body)
      .slice(1, -1)
      .split(',"')
      .join(',')
      .split(/,(?=x|\{)/)
      .map((text) => (text.startsWith('x') ? text.length : 'error'))
  }

  test('are together as large as the limit, and no larger', async () => {
    expect(await lengths(CHARS - 10, 10)).toEqual([CHARS - 10, 10])
    expect(await lengths(CHARS - 10, 11)).toEqual([CHARS - 10, 'error'])
  })

  test('may be one that is larger by itself', async () => {
    expect(await lengths(CHARS + 1)).toEqual([CHARS + 1])
  })
})

test('a batch without requests is accepted, or refused as the first message is that cannot be taken', async () => {
  const answers = [{ status: 202 }, { status: 404 }, { status: 400 }]
  const replies = (statuses: readonly HttpReply[]) => {
    const left = [...statuses]
    return answerBatch(
      statuses.map(() => note),
      sink().given,
      async () => left.shift(),
    )
  }
  expect(await replies([answers[0]!])).toEqual({ status: 202 })
  expect(await replies(answers)).toEqual({ status: 404 })
  expect(await replies([{ status: 399 }, answers[2]!])).toEqual({ status: 400 })
})

test('a batch becomes a stream when one call needs it, and ends when each has ended its part', async () => {
  const { out, given } = sink()
  const done = Promise.withResolvers<void>()
  const answered = answerBatch([ping(1), ping(2)], given, async (message, part) => {
    if (message.kind === 'request' && message.id === 1) return { status: 200, body: 'first' }
    part.open({})
    part.write('second')
    void done.promise.then(() => part.end())
    return undefined
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(out.at(-1)).not.toBe('end')
  done.resolve()
  expect(await answered).toBeUndefined()
  expect([out.filter((line) => line === 'open').length, out.at(-1)]).toEqual([1, 'end'])
  expect(out.join('')).toMatch(/first[^]*second|second[^]*first/)
})
