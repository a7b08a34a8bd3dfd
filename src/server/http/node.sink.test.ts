import type { ServerResponse } from 'node:http'
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
