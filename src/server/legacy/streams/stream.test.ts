import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Sink } from '../../http/exchange.ts'
import { LegacyStream } from './stream.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A connection that remembers what came, and can be cut. */
function connection() {
  const out: string[] = []
  let cut = (): void => {}
  const sink: Sink & { disconnected: boolean } = {
    disconnected: false,
    setHeaders() {},
    open: () => void out.push('open'),
    write: (text) => void out.push(text.trim().replaceAll('\n', ' ')),
    end: () => void out.push('end'),
    onDisconnect: (listener) => void (cut = listener),
  }
  return { sink, out, cut: () => cut() }
}

const newStream = (primes = false, onChange: () => void = () => {}) => new LegacyStream({ name: 's', primes, onChange })

describe('a stream', () => {
  test('sends what comes with its number, and the rest to a client that comes back', () => {
    const stream = newStream()
    const first = connection()
    stream.connect(first.sink, 0)
    stream.send('a')
    stream.send('b')
    expect(first.out).toEqual(['open', 'id: s:1 data: a', 'id: s:2 data: b'])
    first.cut()
    expect([stream.connected, stream.position]).toEqual([false, 2])
    stream.send('c')
    const second = connection()
    stream.connect(second.sink, 1)
    expect(second.out).toEqual(['open', 'id: s:2 data: b', 'id: s:3 data: c'])
    stream.finish('d')
    expect(second.out.slice(3)).toEqual(['id: s:4 data: d', 'end'])
    stream.send('late')
    expect([stream.finished, stream.position, stream.isOver(3), stream.isOver(4)]).toEqual([true, 4, false, true])
  })

  test('says in the ids of its events that its client owes an answer, and at once when that is taken', () => {
    const stream = newStream(true)
    const { sink, out, cut } = connection()
    stream.connect(sink, 0)
    stream.noteOwed('q')
    stream.send('question')
    stream.noteOwed(undefined)
    stream.noteOwed(undefined)
    stream.send('result')
    expect(out.slice(2)).toEqual(['id: s:1:q data: question', 'id: s:1 data:', 'id: s:2 data: result'])
    cut()
    stream.noteOwed('q')
    stream.noteOwed(undefined)
    expect(out).toHaveLength(5)
  })

  test('sends a client that knows no events without data none when an answer is taken', () => {
    const stream = newStream(false)
    const { sink, out } = connection()
    stream.connect(sink, 0)
    stream.noteOwed('q')
    stream.noteOwed(undefined)
    expect(out).toEqual(['open'])
  })

  test('is not over while it is under way, whatever its client has seen', () => {
    expect(newStream().isOver(9)).toBe(false)
  })

  test('has one connection: the newer one ends the older, and the end of that changes nothing', () => {
    const stream = newStream()
    const [first, second] = [connection(), connection()]
    stream.connect(first.sink, 0)
    stream.connect(second.sink, 0)
    expect(first.out).toEqual(['open', 'end'])
    first.cut()
    expect(stream.connected).toBe(true)
    const gone = connection()
    gone.sink.disconnected = true
    stream.connect(gone.sink, 0)
    expect([gone.out, stream.connected]).toEqual([[], true])
  })

  test('is kept alive while somebody is connected', async () => {
    const stream = newStream()
    const { sink, out, cut } = connection()
    stream.connect(sink, 0)
    await vi.advanceTimersByTimeAsync(60_000)
    const before = out.length
    expect(before).toBeGreaterThan(1)
    cut()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(out).toHaveLength(before)
  })

  test('that has ended gives a late client what is left, and ends', () => {
    const stream = newStream()
    stream.finish('a')
    expect(stream.isUnseen).toBe(true)
    const late = connection()
    stream.connect(late.sink, 0)
    vi.advanceTimersByTime(60_000)
    expect(late.out).toEqual(['open', 'id: s:1 data: a', 'end'])
    expect(stream.isUnseen).toBe(false)
  })

  test('is unseen where something came while nobody was connected, and it has ended', () => {
    const stream = newStream()
    stream.send('a')
    expect(stream.isUnseen).toBe(false)
    stream.finish()
    expect(stream.isUnseen).toBe(true)
    const given = newStream()
    given.send('a')
    given.abandon()
    expect([given.finished, given.isUnseen]).toEqual([true, false])
    const seen = newStream()
    seen.connect(connection().sink, 0)
    seen.finish('a')
    expect(seen.isUnseen).toBe(false)
  })

  test('of a client that may come back is primed, and hung up with the time to wait', () => {
    const { sink, out } = connection()
    newStream(true).connect(sink, 7)
    expect(out[1]).toContain('id: s:7')
    const stream = newStream(true)
    const second = connection()
    stream.connect(second.sink, 0)
    stream.hangUp(500)
    expect([second.out.slice(-2), stream.connected, stream.finished]).toEqual([['retry: 500', 'end'], false, false])
    const older = newStream()
    const third = connection()
    older.connect(third.sink, 0)
    older.hangUp(500)
    expect([third.out, older.connected]).toEqual([['open'], true])
  })
})

describe('what is kept of a stream', () => {
  test('is counted, and a thousand messages at most', () => {
    let counted = 0
    const stream = newStream(false, () => (counted = stream.keptChars))
    for (let n = 1; n <= 1000; n++) stream.send('x')
    expect(stream.contents().kept[0]).toEqual([1, 'x'])
    const each = stream.keptChars / 1000
    stream.send('x')
    expect([stream.contents().kept.length, stream.contents().kept[0]]).toEqual([1000, [2, 'x']])
    expect([stream.keptChars, counted]).toEqual([each * 1000, each * 1000])
    stream.forgetKept()
    expect([stream.keptChars, stream.contents().kept]).toEqual([0, []])
    expect(counted).toBe(0)
  })

  test('is the newest message at least, however large', () => {
    const stream = newStream()
    stream.send('a')
    stream.send('x'.repeat(2 * 1024 * 1024))
    expect(stream.contents().kept.map(([number]) => number)).toEqual([2])
  })

  test('has a million characters in all, to the one', () => {
    const half = 'x'.repeat(512 * 1024 - 100) // a message counts a hundred more
    const [fits, over] = [newStream(), newStream()]
    for (const stream of [fits, over]) stream.send(half)
    fits.send(half)
    over.send(`${half}x`)
    expect([fits, over].map((stream) => stream.contents().kept.length)).toEqual([2, 1])
  })

  test('goes to another instance, and what its client has seen already does not go out again', () => {
    const stream = newStream()
    stream.progress = 0.5
    stream.send('a')
    stream.send('b')
    const { position, kept, progress } = stream.contents()
    expect([position, progress]).toEqual([2, 0.5])
    expect(newStream().contents().progress).toBeNull()
    const other = new LegacyStream({ name: 's', primes: false, after: 1 })
    const { sink, out } = connection()
    other.connect(sink, 1)
    other.resume(5, kept)
    expect(out).toEqual(['open', 'id: s:2 data: b'])
    other.resume(5, kept)
    other.send('c')
    expect(out.at(-1)).toBe('id: s:6 data: c')
    other.finish()
    expect(other.isUnseen).toBe(false)
    const unwatched = newStream()
    unwatched.resume(2, kept)
    unwatched.finish()
    expect(unwatched.isUnseen).toBe(true)
  })

  test('is dropped with a stream that is evicted, whose call is told, unless it has ended', () => {
    const told = vi.fn<() => void>()
    const stream = newStream()
    stream.onEvicted = told
    stream.send('a')
    stream.evict()
    expect([stream.finished, stream.keptChars, told.mock.calls.length]).toEqual([true, 0, 1])
    const ended = newStream()
    ended.onEvicted = told
    ended.finish('a')
    ended.evict()
    expect(told).toHaveBeenCalledTimes(1)
  })
})

test('numbers go on after those of another instance, and never back', () => {
  const stream = newStream()
  stream.continueFrom(3)
  const first = stream.position
  expect(first).toBeGreaterThan(3)
  stream.continueFrom(first)
  const second = stream.position
  expect(second).toBeGreaterThan(first)
  stream.continueFrom(0)
  expect(stream.position).toBeGreaterThanOrEqual(second)
})

test('a client that has seen events of another instance that resumed the stream gets all of this one', () => {
  const [crashed, here] = [newStream(), newStream()]
  for (const stream of [crashed, here]) stream.continueFrom(1)
  for (let count = 0; count < 3; count++) crashed.send('question')
  here.finish('result')
  expect([here.isOver(1), here.isOver(crashed.position), here.isOver(here.position)]).toEqual([false, false, true])
  const client = connection()
  here.connect(client.sink, crashed.position)
  expect(client.out.join()).toContain('data: result')
})

test('a connection that is detached is left as it is', () => {
  const stream = newStream()
  const { sink, out } = connection()
  stream.connect(sink, 0)
  expect([stream.detach(), stream.connected, out]).toEqual([sink, false, ['open']])
  vi.advanceTimersByTime(60_000)
  expect([stream.detach(), out]).toEqual([undefined, ['open']])
})
