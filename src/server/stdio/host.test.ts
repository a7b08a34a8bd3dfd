import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { localBus } from '../lifecycle/eventBus.ts'
import type { CallHandler } from '../call.ts'
import type { PushBroker } from '../legacy/push/broker.ts'
import type { Sessions } from '../legacy/session.ts'
import { SessionFacts } from '../legacy/sessionFacts.ts'
import { LoggerSlot } from '../logger.ts'
import { resultMessage } from '../results.ts'
import { serveStdio } from './host.ts'

/** A server without a pipeline of its own that is sent these lines. */
function serving(calls: CallHandler, lines: string) {
  const bus = localBus()
  const access = { assertWatchable() {}, canRead: () => true, canSee: () => true }
  const facts = new SessionFacts(bus, Date.now)
  const sessions = { facts, pushes: {} as PushBroker, sessions: {} as Sessions }
  const parts = { bus, access, calls, sessions, logger: new LoggerSlot(undefined) }
  const [input, output] = [new PassThrough(), new PassThrough()]
  input.write(lines)
  return { input, output, ended: serveStdio(parts, { input, output }, new Set()) }
}

/** What it writes. */
async function served(calls: CallHandler, lines: string): Promise<unknown> {
  const { input, output, ended } = serving(calls, lines)
  input.end()
  await ended
  output.end()
  return JSON.parse(await text(output))
}

test('a request is answered, and the connection ends well, also where the call handler fails', async () => {
  const calls: CallHandler = { answer: () => Promise.reject(new Error('secret')) }
  expect(await served(calls, '{"jsonrpc":"2.0","id":1,"method":"ping"}\n')).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32603, message: 'Internal error.' },
  })
})

test('any call handler can answer what comes over stdio', async () => {
  const calls: CallHandler = {
    answer: async ({ id, method, peer }) => ({
      status: 200,
      body: resultMessage(id, JSON.stringify({ method, era: peer.era })),
    }),
  }
  expect(await served(calls, '{"jsonrpc":"2.0","id":1,"method":"any/method"}\n')).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: { method: 'any/method', era: 'legacy' },
  })
})

test('what a client does not read is bounded: notifications are left out, and the response is there', async () => {
  const data = 'x'.repeat(100_000)
  const answered = Promise.withResolvers<void>()
  const calls: CallHandler = {
    answer: async ({ id, channel }) => {
      for (let sent = 0; sent < 400; sent++) {
        channel.notify('notifications/message', { level: 'info', data })
        if (sent % 20 === 0) await new Promise(setImmediate)
      }
      setImmediate(answered.resolve)
      return { status: 200, body: resultMessage(id, '{}') }
    },
  }
  const { input, output, ended } = serving(calls, '{"jsonrpc":"2.0","id":1,"method":"any/method"}\n')
  await answered.promise
  input.end()
  await ended
  expect(output.writableLength + output.readableLength).toBeLessThan(20 * 1024 * 1024)
  output.end()
  const lines = (await text(output)).trim().split('\n')
  expect(lines.length).toBeGreaterThan(100)
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ id: 1, result: {} })
})
