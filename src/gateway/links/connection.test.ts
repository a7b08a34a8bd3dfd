import type { Transport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { BackendConnection } from './connection.ts'
import type { Relayed } from './relayed.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a closed connection is held by no timer, although a caller left it before', async () => {
  const transport: Transport = { start: async () => {}, send: async () => {}, close: async () => {} }
  const options = { server: 'files', timeoutMs: 300_000, callers: 'one', onNotification() {}, onClosed() {} } as const
  const connection = new BackendConnection({ ...options, transport })
  let leave = (): void => {}
  const relayed = {
    method: 'tools/call',
    params: {},
    peer: { era: 'modern' },
    onCancel: (on: () => void) => (leave = on),
  }
  const response = connection.request(relayed as unknown as Relayed)
  leave()
  await expect(response).rejects.toThrow('the caller has left')
  expect(connection.hasLeftovers).toBe(true)
  await connection.close()
  expect(vi.getTimerCount()).toBe(0)
})
