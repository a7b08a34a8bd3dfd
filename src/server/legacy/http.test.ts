import { expect, test } from 'vitest'
import type { RequestMessage, ResponseMessage } from '../../protocol/index.ts'
import { createSealer, ephemeralKeyring } from '../../state/seal/index.ts'
import type { Call } from '../call.ts'
import { localBus } from '../lifecycle/eventBus.ts'
import { Owners, Self } from '../../cluster/index.ts'
import { LegacyHttp, type LegacyHttpOptions } from './http.ts'
import { LegacyStreams } from './streams/streams.ts'
import type { ResumedCall } from './push/handOff.ts'
import { Sessions } from './session.ts'
import { SessionFacts } from './sessionFacts.ts'
import type { Sink } from '../http/exchange.ts'
import { GetStreams } from './streams/getStreams.ts'

const self = new Self()
const sealer = createSealer({ keyring: ephemeralKeyring(), audience: 'test' })
const failed: unknown[] = []
const logger = { debug() {}, info() {}, warn() {}, error: (details: unknown) => void failed.push(details) }

/** A door whose handler fails after it opened a stream, and where every answer resumes a call. */
function broken() {
  const bus = localBus()
  const facts = new SessionFacts(bus, Date.now)
  const streams = new LegacyStreams(sealer, self)
  const resumed = {
    id: 7,
    method: 'tools/call',
    params: {},
    stream: 'lost',
    journal: { id: 'j' },
  }
  const parts = {
    calls: {
      answer: async ({ channel }: Call) => {
        channel.notify('notifications/message', {})
        throw new Error('secret')
      },
    },
    pushes: {
      take: async () => ({ kind: 'resumed', call: resumed as unknown as ResumedCall, state: { position: 1 } }),
      end: () => [],
      callOf: () => 'call',
    },
    owners: new Owners({ self, bus, ttlSeconds: 60, clock: Date.now }),
    self,
    ttlSeconds: 60,
    clock: Date.now,
    sessions: new Sessions(sealer, facts, self),
    getStreams: new GetStreams(streams, facts, bus, { assertWatchable() {}, canRead: () => true, canSee: () => true }),
    ledger: undefined,
    peers: { meet() {} },
    bus,
    facts,
    streams,
    clientAddress: undefined,
    logger: () => logger,
  }
  return { http: new LegacyHttp(parts as unknown as LegacyHttpOptions), streams }
}

test('a stream ends with an error where the call handler fails', async () => {
  const texts: string[] = []
  const sink: Sink = {
    disconnected: false,
    open() {},
    onDisconnect() {},
    setHeaders() {},
    write: (text) => void texts.push(text),
    end: () => void texts.push('end'),
  }
  const message: RequestMessage = { kind: 'request', id: 1, method: 'tools/call', params: {} }
  expect(await broken().http.post(message, () => undefined, undefined, sink)).toBeUndefined()
  expect(texts.slice(-2)).toEqual([expect.stringContaining('"Internal error."'), 'end'])
})

test('a resumed call whose handler fails is reported, and its stream ends', async () => {
  const { http, streams } = broken()
  const message: ResponseMessage = { kind: 'response', id: 'q', result: {}, error: undefined, state: undefined }
  const before = failed.length
  expect(await http.post(message, () => undefined, undefined, {} as Sink)).toEqual({ status: 202 })
  await new Promise((resolve) => setTimeout(resolve))
  expect(failed).toHaveLength(before + 1)
  expect(streams.get('lost')?.finished).toBe(true)
})
