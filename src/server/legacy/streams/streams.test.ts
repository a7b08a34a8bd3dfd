import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createSealer, ephemeralKeyring } from '../../../state/seal/index.ts'
import type { LegacyStream } from './stream.ts'
import { LegacyStreams } from './streams.ts'
import { legacyPeer } from '../session.ts'
import { Self } from '../../../cluster/index.ts'
import type { Sink } from '../../http/exchange.ts'

const sealer = createSealer({ keyring: ephemeralKeyring(), audience: 'test' })
const peer = { ...legacyPeer({ version: '2025-06-18', client: undefined, capabilities: {} }), session: 's' }
const caller = { peer, principal: undefined }
const MB = 1024 * 1024

function sinkOf(texts: string[], gone = false): Sink {
  return {
    disconnected: gone,
    open: () => void texts.push('opened'),
    write: (text) => texts.push(text),
    end() {},
    onDisconnect() {},
    setHeaders() {},
  }
}

/** The first letters of the messages that a client gets who comes back. */
function keptBy(stream: LegacyStream): string {
  const texts: string[] = []
  stream.connect(sinkOf(texts), 0)
  return texts.map((text) => /data: (.)/.exec(text)?.[1] ?? '').join('')
}

/** The data of all events, as clients read them that take an empty line after an id for the end of an event. */
function dataIn(text: string): string[] {
  const found: string[] = []
  let [hasId, data] = [false, '']
  for (const line of text.split('\n').slice(0, -1)) {
    if (line.startsWith('data: ')) data = line.slice('data: '.length)
    hasId ||= line.startsWith('id: ')
    if (line !== '' || (!hasId && data === '')) continue
    found.push(data)
    data = ''
  }
  return found
}

const message = (letter: string, chars: number) => letter.repeat(chars)

describe('for a client that comes back', () => {
  test('each connection begins with the place where the client was, so that it can come back from a silent one', () => {
    const recent = { peer: { ...peer, version: '2025-11-25' as const }, principal: undefined }
    const stream = new LegacyStreams(sealer, new Self()).begin(recent, 1)
    stream.send('first')
    const texts: string[] = []
    stream.connect(sinkOf(texts), 1)
    expect(texts).toEqual(['opened', `id: ${stream.name}:1\ndata: \n\n`])
  })

  test.each(['2024-11-05', '2025-03-26', '2025-06-18'])('no event of %s is without data', (version) => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const old = { peer: { ...peer, version }, principal: undefined }
    const stream = new LegacyStreams(sealer, new Self()).begin(old, 1)
    const texts: string[] = []
    stream.connect(sinkOf(texts), 0)
    stream.noteOwed('q')
    stream.send('{"first":1}')
    stream.noteOwed(undefined)
    vi.advanceTimersByTime(60_000)
    stream.hangUp(1)
    stream.send('{"second":2}')
    expect(dataIn(texts.slice(1).join(''))).toEqual(['{"first":1}', '{"second":2}'])
  })

  test.each([
    ['another principal', { peer, principal: { id: 'bob' } }],
    ['nobody', caller],
    ['another session', { peer: { ...peer, session: 'other' }, principal: { id: 'ann' } }],
  ])('the place in a stream of Ann is not one for %s', (_, other) => {
    const streams = new LegacyStreams(sealer, new Self())
    const ann = { peer, principal: { id: 'ann' } }
    const place = `${streams.begin(ann, 1).name}:1`
    expect(streams.positionOf(place, ann).after).toBe(1)
    expect(() => streams.positionOf(place, other)).toThrow()
  })

  test('a stream keeps the newest million characters, and the newest message whatever its size', () => {
    const stream = new LegacyStreams(sealer, new Self()).begin(caller, 1)
    for (const letter of ['a', 'b', 'c', 'd']) stream.send(message(letter, 0.3 * MB))
    expect(keptBy(stream)).toBe('bcd')
    stream.send(message('e', 2 * MB))
    expect(keptBy(stream)).toBe('e')
  })

  test('all streams together keep 64 million, and the oldest forget first', () => {
    const streams = new LegacyStreams(sealer, new Self())
    const all = Array.from({ length: 70 }, () => streams.begin(caller, 1))
    for (const stream of all) stream.send(message('m', 0.99 * MB))
    const kept = all.map(keptBy)
    expect([kept[0], kept.at(-1)]).toEqual(['', 'm'])
    expect(kept.filter((letters) => letters === 'm').length).toBeGreaterThan(40)
    expect(kept.filter((letters) => letters === 'm').length).toBeLessThanOrEqual(64)
  })

  test('what a stream no longer keeps makes room for others', () => {
    const streams = new LegacyStreams(sealer, new Self())
    const first = streams.begin(caller, 1)
    first.send('first')
    const busy = streams.begin(caller, 1)
    for (let count = 0; count < 200; count++) busy.send(message('m', 0.9 * MB))
    expect(keptBy(first)).toBe('f')
  })
})

test('a stream for which there is no room tells the call it belongs to, and one with a client stays', () => {
  const streams = new LegacyStreams(sealer, new Self())
  const told: string[] = []
  const [connected, lost] = ['connected', 'lost'].map((name) => {
    const stream = streams.begin(caller, 1)
    stream.onEvicted = () => told.push(name)
    return stream
  })
  connected?.connect(sinkOf([]), 0)
  for (let count = 0; count < 9999; count++) streams.begin(caller, 1)
  expect(told).toEqual(['lost'])
  lost?.send('late')
  expect(lost && keptBy(lost)).toBe('')
})

test('a stream does not settle with a client that has gone', () => {
  const stream = new LegacyStreams(sealer, new Self()).begin(caller, 1)
  const texts: string[] = []
  stream.connect(sinkOf(texts, true), 0)
  expect([stream.connected, texts]).toEqual([false, []])
})

test('a caller with very many streams loses its own, and the running call of another stays', () => {
  const streams = new LegacyStreams(sealer, new Self())
  const lost: string[] = []
  const begin = (id: string): LegacyStream => {
    const stream = streams.begin({ peer, principal: { id } }, 1)
    stream.onEvicted = () => lost.push(id)
    return stream
  }
  const other = begin('ann')
  const first = begin('bob')
  first.finish()
  for (let count = 0; count < 10_500; count++) begin('bob')
  expect(lost.length).toBe(501) // the finished one went first, and told nobody
  expect(new Set(lost)).toEqual(new Set(['bob']))
  expect([streams.get(other.name), streams.get(first.name)]).toEqual([other, undefined])
})

test('an anonymous caller with very many sessions loses streams of its own address, and the running call of another stays', () => {
  const streams = new LegacyStreams(sealer, new Self())
  const lost: string[] = []
  const begin = (address: string, session: string): LegacyStream => {
    const stream = streams.begin({ peer: { ...peer, session }, principal: undefined, address }, 1)
    stream.onEvicted = () => lost.push(address)
    return stream
  }
  const other = begin('192.0.2.1', 'other')
  for (let count = 0; count < 10_500; count++) begin('2001:db8::' + count.toString(16), `${count}`)
  expect([lost.length, lost.includes('192.0.2.1'), streams.get(other.name)]).toEqual([501, false, other])
})

test('a caller whose very many streams all have connections costs no other caller a running call', () => {
  const streams = new LegacyStreams(sealer, new Self())
  const lost: string[] = []
  const running = streams.begin({ peer, principal: { id: 'ann' } }, 1)
  running.onEvicted = () => lost.push('running')
  const over = streams.begin({ peer, principal: { id: 'ann' } }, 2)
  over.finish('over')
  for (let count = 0; count < 10_010; count++) {
    const stream = streams.begin({ peer, principal: { id: 'bob' } }, 1)
    stream.connect(sinkOf([]), 0)
  }
  expect([lost, streams.get(running.name), streams.get(over.name)]).toEqual([[], running, undefined])
})

test('very many callers with one stream each do not make it slow to find room', () => {
  const streams = new LegacyStreams(sealer, new Self())
  const begin = (session: string) =>
    streams.begin({ peer: { ...peer, session }, principal: undefined }, 1).connect(sinkOf([]), 0)
  for (let count = 0; count < 10_000; count++) begin(`s${count}`)
  const { user: before } = process.cpuUsage()
  for (let count = 0; count < 5; count++) begin(`t${count}`)
  expect((process.cpuUsage().user - before) / 5000).toBeLessThan(100)
})

test('what is kept for one caller does not make others forget', () => {
  const streams = new LegacyStreams(sealer, new Self())
  const mine = streams.begin({ peer, principal: { id: 'ann' } }, 1)
  mine.send('mine')
  for (let count = 0; count < 70; count++) streams.begin(caller, 1).send(message('m', 0.99 * MB))
  expect(keptBy(mine)).toBe('m')
  expect(mine.keptChars).toBeGreaterThan(0)
})
