import { expect, test } from 'vitest'
import { createSealer, ephemeralKeyring } from '../../../state/seal/index.ts'
import type { Sink } from '../../http/exchange.ts'
import { localBus } from '../../lifecycle/eventBus.ts'
import { Self } from '../../../cluster/index.ts'
import { legacyPeer } from '../session.ts'
import { SessionFacts } from '../sessionFacts.ts'
import { GetStreams } from './getStreams.ts'
import { LegacyStreams } from './streams.ts'

const sealer = createSealer({ keyring: ephemeralKeyring(), audience: 'test' })
const guard = { assertWatchable() {}, canRead: () => true, canSee: () => true }

test('the stream of a session is forgotten when the session has ended', () => {
  const bus = localBus()
  const facts = new SessionFacts(bus, Date.now)
  const streams = new LegacyStreams(sealer, new Self())
  const getStreams = new GetStreams(streams, facts, bus, guard)
  const peer = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities: {} }), session: 's' }
  const texts: string[] = []
  const sink: Sink = {
    disconnected: false,
    open() {},
    setHeaders() {},
    onDisconnect() {},
    write: (text) => void texts.push(text),
    end: () => void texts.push('end'),
  }
  getStreams.open({ peer, principal: undefined }, sink)
  const [, name = ''] = /^id: (.+):\d+\n/.exec(texts[0] ?? '') ?? []
  expect(streams.get(name)).toBeDefined()
  facts.end('s', Date.now())
  expect(texts.at(-1)).toBe('end')
  expect(streams.get(name)).toBeUndefined()
})
