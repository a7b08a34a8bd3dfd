import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { NodeSink } from './node.ts'

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
