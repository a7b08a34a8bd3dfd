import { InMemoryTransport, type JSONRPCMessage } from '@modelcontextprotocol/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { SdkClient } from './sdkClient.ts'

/** A client, connected to a server of the session era that answers nothing else. */
async function connected(beforeClose: () => Promise<void> = async () => {}) {
  const [near, far] = InMemoryTransport.createLinkedPair()
  far.onmessage = (message: JSONRPCMessage) => {
    if (!('method' in message) || message.method !== 'initialize' || !('id' in message)) return
    const result = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 's', version: '1' },
    }
    void far.send({ jsonrpc: '2.0', id: message.id, result })
  }
  await far.start()
  const closed = vi.spyOn(near, 'close')
  const client = new SdkClient({ name: 'c', version: '1' }, {}, beforeClose)
  await client.connect(near)
  return { client, closed }
}

test('a close waits for what comes before it, closes the transport, and happens once', async () => {
  const log: string[] = []
  const { client, closed } = await connected(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    log.push('before')
  })
  closed.mockImplementationOnce(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    log.push('closed')
  })
  await Promise.all([client.close(), client.close()])
  expect(log).toEqual(['before', 'closed'])
})

test('a client whose messages could not be flushed is closed all the same', async () => {
  const { client, closed } = await connected(() => Promise.reject(new Error('stuck')))
  await expect(client.close()).rejects.toThrow('stuck')
  expect(closed).toHaveBeenCalled()
})

test('calls that may wait for people have no time limit but the one they are given', async () => {
  const { client } = await connected()
  onTestFinished(() => client.close())
  const timers = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => timers.mockRestore())
  const longest = (): number => Math.max(...timers.mock.calls.map(([, ms]) => ms ?? 0))
  for (const call of [
    (timeout?: number) => client.callTool({ name: 't' }, timeout === undefined ? undefined : { timeout }),
    (timeout?: number) => client.getPrompt({ name: 't' }, timeout === undefined ? undefined : { timeout }),
    (timeout?: number) => client.readResource({ uri: 'x://t' }, timeout === undefined ? undefined : { timeout }),
  ]) {
    timers.mockClear()
    void call().catch(() => {})
    await vi.waitFor(() => expect(longest()).toBe(2 ** 31 - 1))
    await expect(call(5)).rejects.toThrow(/timed out/i)
  }
})
