import { expect, test, vi } from 'vitest'
import { createSealer, ephemeralKeyring } from '../../../state/seal/index.ts'
import { memoryLedger } from '../../../state/stores/index.ts'
import { newJournal, writeJournal } from '../../../journal/index.ts'
import type { Sink } from '../../http/exchange.ts'
import { localBus } from '../../lifecycle/eventBus.ts'
import { CarryRules } from '../../catalog/carry.ts'
import { Owners, Self } from '../../../cluster/index.ts'
import { legacyPeer } from '../session.ts'
import type { StreamResumption } from '../streams/resumption.ts'
import { LegacyStreams } from '../streams/streams.ts'
import { PushBroker } from './broker.ts'
import { announced, HandOffs, type HandOffsOptions } from './handOffs.ts'

const sealer = createSealer({ keyring: ephemeralKeyring(), audience: 'test' })
const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })
const peer = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities: {} }), session: 's' }
const caller = { peer, principal: undefined }

function resumer(ledger = memoryLedger()) {
  const self = new Self('http://here/mcp')
  const handOff = vi.fn(async (): Promise<Self | undefined> => undefined)
  const canHandOff = async () => true
  const rules = new CarryRules(undefined, false)
  const owners = new Owners({ self, bus: localBus(), ttlSeconds: 60, clock: Date.now })
  const common = { owners, sealer, rules, store: undefined, bus: undefined, ledger, ttlSeconds: 60, clock: Date.now }
  const streams = new LegacyStreams(sealer, self)
  const resume = vi.fn()
  const parts = {
    streams,
    pushes: new PushBroker({ ...common, self, canHandOff, handOff, cancel() {}, onDifference() {}, logger }),
    returning: { noteClaimed() {} } as unknown as StreamResumption,
    handOff,
    resume,
  }
  return { handOffs: new HandOffs(parts satisfies HandOffsOptions), streams, resume, handOff }
}

const name = new LegacyStreams(sealer, new Self('http://before/mcp')).begin(caller, 1).name
const journal = writeJournal(newJournal('call'))
const request = { id: 1, method: 'tools/call', params: {} }
const stream = { name, caller, position: 2, kept: [[1, '"one"'] as const, [2, '"two"'] as const], progress: null }

test('a call that is handed over twice, because a reply was late, runs once', async () => {
  const { handOffs, resume } = resumer()
  const handedOff = {
    ...stream,
    call: { call: 'call', generation: 0, carried: false, request, journal, questions: [] },
  }
  const resumed = await Promise.all([handOffs.resume(handedOff), handOffs.resume(handedOff)])
  expect([resumed, resume.mock.calls.length]).toEqual([[true, true], 1])
})

test('a stream that is handed over twice is kept once', async () => {
  const { handOffs, streams } = resumer()
  expect(await Promise.all([handOffs.resume(stream), handOffs.resume(stream)])).toEqual([true, true])
  expect(streams.get(name)?.contents()).toEqual({ position: 2, kept: stream.kept, progress: null })
})

test('a client that waits for the stream here gets what it has not seen', async () => {
  const { handOffs, streams } = resumer()
  const texts: string[] = []
  const sink: Sink = {
    disconnected: false,
    setHeaders() {},
    open() {},
    write: (text) => void texts.push(text),
    end() {},
    onDisconnect() {},
  }
  streams.at(streams.positionOf(`${name}:1`, caller), caller).connect(sink, 1)
  await handOffs.resume({
    ...stream,
    call: { call: 'call', generation: 0, carried: false, request, journal, questions: [] },
  })
  expect(texts.filter((text) => !text.includes('data: \n'))).toEqual([expect.stringContaining('"two"')])
})

test('a call whose state is out there is claimed with its adoption, and left to the instance that has it already', async () => {
  const ledger = memoryLedger()
  const first = resumer(ledger)
  const second = resumer(ledger)
  const handedOff = {
    ...stream,
    call: { call: 'call', generation: 3, carried: true, request, journal, questions: [] },
  }
  expect([await first.handOffs.resume(handedOff), await second.handOffs.resume(handedOff)]).toEqual([true, true])
  expect([first.resume.mock.calls.length, second.resume.mock.calls.length]).toEqual([1, 0])
  expect(await ledger.claim('push/call/3', 60)).toMatchObject({ state: 'done' })
})

test('what a client has yet to come back for is handed over once, when its call has ended', async () => {
  const { handOffs, streams, handOff } = resumer()
  handOff.mockResolvedValue(new Self('http://next/mcp'))
  const unseen = streams.begin(caller, 1)
  unseen.send('"one"')
  await handOffs.unseen()
  expect(handOff).not.toHaveBeenCalled()
  unseen.finish('"result"')
  handOffs.finished()
  await handOffs.unseen()
  expect(handOff.mock.calls).toMatchObject([
    [
      {
        name: unseen.name,
        kept: [
          [1, '"one"'],
          [2, '"result"'],
        ],
      },
    ],
  ])
})

test.each([
  ['told to all where somebody took it', new Self('http://there/mcp'), 1],
  ['nothing to tell where nobody did', undefined, 0],
])('a stream that is handed over is %s', async (_, to, times) => {
  const change = vi.fn()
  const handOff = announced({ change } as never, async () => to)
  expect(await handOff({ name: 's', call: { call: 'c' } } as never)).toBe(to)
  expect(change.mock.calls).toEqual([[['s', 'c'], to]].slice(0, times))
})
