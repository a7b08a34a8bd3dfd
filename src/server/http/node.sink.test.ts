import { EventEmitter } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { send } from './node.ts'
import { MAX_UNREAD_BYTES } from './exchange.ts'
import { NodeSink } from './nodeSink.ts'

test.each([
  ['told at once when the client has gone already', true, false, 1],
  ['not told when the answer was whole', true, true, 0],
  ['not told while the client is there', false, false, 0],
])('whoever minds the client is %s', (_, destroyed, writableFinished, times) => {
  const res = { destroyed, writableFinished, once() {} } as unknown as ServerResponse
  let told = 0
  new NodeSink(res).onDisconnect(() => told++)
  expect(told).toBe(times)
})

// Node warns of more than ten on standard error, for each response again.
test('all calls of a batch are told that the client has gone, by one listener', () => {
  const res = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false })
  const sink = new NodeSink(res as unknown as ServerResponse)
  let told = 0
  for (let call = 0; call < 100; call++) sink.onDisconnect(() => told++)
  expect(res.listenerCount('close')).toBe(1)
  res.emit('close')
  expect(told).toBe(100)
})

// A process may be killed between two writes, and a client that got the head alone does not come back.
test('the head of an answer waits for what is written at once, and goes out without it', async () => {
  const server = createServer((_, res) => {
    const sink = new NodeSink(res)
    sink.open({ 'content-type': 'text/event-stream' })
    const atOnce = res.socket?.bytesWritten
    setImmediate(() => {
      sink.write(`data: ${atOnce} ${res.socket?.bytesWritten}\n\n`)
      sink.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [first, second] = (await response.text()).match(/\d+/g) ?? []
  expect([first, Number(second) > 0]).toEqual(['0', true])
  server.close()
})

const LARGE = 'x'.repeat(8 * 1024 * 1024)

test.each<[string, (res: ServerResponse) => void]>([
  ['answer', (res) => send(res, { status: 200, body: JSON.stringify(LARGE) })],
  [
    'stream',
    (res) => {
      const sink = new NodeSink(res)
      sink.open({ 'content-type': 'text/event-stream' })
      sink.write(LARGE)
      sink.write(LARGE.slice(0, 1000))
    },
  ],
  [
    'end of a stream',
    (res) => {
      const sink = new NodeSink(res)
      sink.open({ 'content-type': 'text/event-stream' })
      process.nextTick(() => {
        sink.write('data: small\n\n')
        setImmediate(() => {
          res.write(LARGE)
          sink.end()
        })
      })
    },
  ],
])('an %s that its client does not read is given up after a while, and its memory with it', async (_, answer) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const answered = Promise.withResolvers<ServerResponse>()
  const server = createServer((_req, res) => {
    answer(res)
    setImmediate(() => setImmediate(() => answered.resolve(res)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.pause().write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  const res = await answered.promise
  expect(res.writableLength).toBeGreaterThan(1_000_000)
  vi.advanceTimersByTime(60_000)
  expect(res.destroyed).toBe(false) // a slow network may take a while for so much
  vi.advanceTimersByTime(8 * 1024 * 1024)
  expect(res.destroyed).toBe(true)
  client.destroy()
  server.close()
})

test('an answer that is read in time leaves no timer behind, and its connection is used again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const server = createServer((_, res) => send(res, { status: 200, body: JSON.stringify(LARGE) }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const request = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'
  let read = 0
  for (const times of [1, 2]) {
    const whole = Promise.withResolvers<void>()
    client.removeAllListeners('data').on('data', (chunk) => {
      read += chunk.length
      if (read > times * LARGE.length) whole.resolve()
    })
    client.write(request)
    await whole.promise
    await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(8 * 1024 * 1024)
  }
  expect([vi.getTimerCount(), client.destroyed]).toEqual([0, false])
  client.destroy()
  server.close()
})

test('a client that reads nothing is cut off when more than the limit waits for it, to the byte', () => {
  const destroy = vi.fn<() => void>()
  const res = Object.assign(new EventEmitter(), { destroyed: false, writableEnded: false, write: () => true, destroy })
  const sink = new NodeSink(Object.assign(res, { writableLength: MAX_UNREAD_BYTES }) as unknown as ServerResponse)
  sink.write('x')
  expect(destroy).not.toHaveBeenCalled()
  Object.assign(res, { writableLength: MAX_UNREAD_BYTES + 1 })
  sink.write('x')
  expect(destroy).toHaveBeenCalledTimes(1)
})
