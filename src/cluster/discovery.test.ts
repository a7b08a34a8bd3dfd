import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Instance, Self } from './instance.ts'
import { type Delivery, UNOPENED } from './messenger.ts'
import { Discovery } from './discovery.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const self = new Self('http://me/mcp')
const nobody: Delivery = { kind: 'gone', why: 'refused' }
const found = (successor: Instance) => ({ kind: 'gone', why: 'another', successor }) as unknown as Delivery

function begin(reply: () => Delivery, known: Instance[] = []) {
  const send = vi.fn(async () => reply())
  const meetAgain = vi.fn(() => true)
  const told: unknown[] = []
  const at =
    (level: string) =>
    (fields: object, text: string): void =>
      void told.push({ level, ...fields, text })
  const logger = { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') }
  const members = { meetAgain, known: () => known, isStopping: false }
  const discovery = new Discovery({ self, members, messenger: { send }, logger: () => logger })
  return { discovery, send, meetAgain, told, members }
}

test('an address is looked at five times a second, later each second, and given up after a hundred looks', async () => {
  const { discovery, send } = begin(() => nobody)
  await discovery.seek('http://a/mcp')
  expect(send).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(199)
  expect(send).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(1 + 48 * 200)
  expect(send).toHaveBeenCalledTimes(50)
  await vi.advanceTimersByTimeAsync(999)
  expect(send).toHaveBeenCalledTimes(50)
  await vi.advanceTimersByTimeAsync(1 + 49_000)
  expect(send).toHaveBeenCalledTimes(100)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(send).toHaveBeenCalledTimes(100)
})

test('who is found there is met, once, and then sought no more', async () => {
  const other = { id: 'other', url: 'http://a/mcp' }
  const { discovery, send, meetAgain } = begin(() => found(other))
  await discovery.seek('http://a/mcp')
  await vi.advanceTimersByTimeAsync(10_000)
  expect([meetAgain.mock.calls, send.mock.calls.length]).toEqual([[[other]], 1])
  await discovery.seek('http://a/mcp')
  expect(send).toHaveBeenCalledTimes(2)
})

test('an instance that finds itself, or that nobody can meet, goes on looking', async () => {
  const { discovery, send, meetAgain } = begin(() => found(self))
  await discovery.seek('http://a/mcp')
  await vi.advanceTimersByTimeAsync(200)
  expect([meetAgain.mock.calls.length, send.mock.calls.length]).toEqual([0, 2])
  const unmet = begin(() => found({ id: 'other', url: 'http://a/mcp' }))
  unmet.meetAgain.mockReturnValue(false)
  await unmet.discovery.seek('http://b/mcp')
  await vi.advanceTimersByTimeAsync(200)
  expect(unmet.send).toHaveBeenCalledTimes(2)
})

test('an address of an instance that is known is not looked at', async () => {
  const { discovery, send } = begin(() => nobody, [{ id: 'other', url: 'http://a/mcp' }])
  await discovery.seek('http://a/mcp')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(send).not.toHaveBeenCalled()
})

test('at most 64 addresses are sought at a time, each once, and none after a stop', async () => {
  const { discovery, send } = begin(() => nobody)
  for (let n = 0; n < 65; n++) await discovery.seek(`http://${n}/mcp`)
  await discovery.seek('http://0/mcp')
  expect(send).toHaveBeenCalledTimes(64)
  discovery.stop()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(send).toHaveBeenCalledTimes(64)
})

test('of a configured address where nobody is, the log has one line, and one when somebody is there', async () => {
  let reply = nobody as Delivery
  const { discovery, told } = begin(() => reply)
  await discovery.seek('http://a/mcp', true)
  await vi.advanceTimersByTimeAsync(1000)
  const absent = {
    level: 'warn',
    address: 'http://a/mcp',
    why: 'refused',
    text: expect.stringContaining('No instance'),
  }
  expect(told).toEqual([absent])
  reply = found({ id: 'other', url: 'http://a/mcp' })
  await vi.advanceTimersByTimeAsync(1000)
  const there = { level: 'info', address: 'http://a/mcp', text: expect.stringContaining('is there now') }
  expect(told).toEqual([absent, there])
})

test('of an instance that cannot open a message, the log says once that the keys may differ', async () => {
  let reply = nobody as Delivery
  const { discovery, told } = begin(() => reply)
  await discovery.seek('http://a/mcp', true)
  reply = { kind: 'gone', why: UNOPENED }
  await vi.advanceTimersByTimeAsync(1000)
  expect(told).toMatchObject([
    { level: 'warn' },
    { level: 'warn', address: 'http://a/mcp', text: expect.stringContaining('the same PANNIER_KEYS') },
  ])
})

test('nothing is logged of addresses that are not configured, or of itself', async () => {
  const left = begin(() => nobody)
  await left.discovery.seek('http://a/mcp')
  const own = begin(() => found(self))
  await own.discovery.seek('http://me/mcp', true)
  await vi.advanceTimersByTimeAsync(1000)
  expect([left.told, own.told]).toEqual([[], []])
})

test('a configured address is missing for as long as nobody is there, and is looked at until then', async () => {
  let reply = nobody as Delivery
  const known: Instance[] = []
  const { discovery } = begin(() => reply, known)
  await discovery.seek('http://a/mcp', true)
  await discovery.seek('http://b/mcp')
  expect(discovery.missing).toEqual([{ address: 'http://a/mcp', kind: 'nobody', why: 'refused' }])
  reply = { kind: 'gone', why: UNOPENED }
  await vi.advanceTimersByTimeAsync(200_000)
  expect(discovery.missing).toEqual([{ address: 'http://a/mcp', kind: 'unopened', why: UNOPENED }])
  reply = found({ id: 'other', url: 'http://a/mcp' })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(discovery.missing).toEqual([])
  reply = nobody
  await discovery.seek('http://a/mcp') // as when an instance is gone
  expect(discovery.missing).toHaveLength(1)
  known.push({ id: 'again', url: 'http://a/mcp' })
  expect(discovery.missing).toEqual([])
})

test('the own address is not missing', async () => {
  const { discovery, send } = begin(() => found(self))
  await discovery.seek('http://me/mcp', true)
  await vi.advanceTimersByTimeAsync(200_000)
  expect(discovery.missing).toEqual([])
  expect(send).toHaveBeenCalledTimes(100)
})

test('an instance that stops does not report that nobody is at its own address', async () => {
  let reply = found(self)
  const { discovery, members, told, send } = begin(() => reply)
  await discovery.seek('http://me/mcp', true)
  members.isStopping = true
  reply = nobody
  await vi.advanceTimersByTimeAsync(1000)
  expect(send.mock.calls.length).toBeGreaterThan(1)
  expect(told).toEqual([])
})
