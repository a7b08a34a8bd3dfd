import { describe, expect, test } from 'vitest'
import { newJournal, writeJournal } from '../journal/index.ts'
import type { Json, ResponseMessage } from '../protocol/index.ts'
import { createSealer, ephemeralKeyring, memoryLedger } from '../state/index.ts'
import type { Call } from './call.ts'
import type { Logger } from './logger.ts'
import { Pushes, type PushesOptions } from './pushes.ts'
import { legacyPeer } from './session.ts'

const sealing = { keyring: ephemeralKeyring(), audience: 'test' }
const sealer = createSealer(sealing)
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const request = { method: 'roots/list' } as const
const stream = { name: 'stream', position: 0 }

function process(options: Partial<PushesOptions> = {}): Pushes {
  const defaults = { bus: undefined, sealer, store: undefined, ledger: memoryLedger(), ttlSeconds: 60 }
  return new Pushes({ ...defaults, clock: () => Date.now(), logger: () => silent, ...options })
}

const capabilities = { experimental: { 'dev.pannier/state-echo': {} } }
const peer = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities }), session: 's' }
const owner = { peer, principal: undefined }
const call = { ...owner, id: 1, method: 'tools/call', params: {} } as unknown as Call

/** Asks under `key`; gives the question as sent and the answer to come. */
async function ask(pushes: Pushes, key: string): Promise<{ question: Json; answer: Promise<unknown> }> {
  const journal = newJournal('call')
  const carried = { id: 'call', key, body: () => writeJournal(journal) }
  let answer: Promise<unknown> = Promise.resolve()
  const question = await new Promise<Json>((resolve) => {
    answer = pushes.push(call, request, carried, stream, resolve)
  })
  return { question, answer }
}

function answerTo({ id, state }: Json, root: string): ResponseMessage {
  return { kind: 'response', id: id as string, state, result: { roots: [root] }, error: undefined }
}

describe('two questions of a process that is gone', () => {
  test('revive one call, which has the second answer before it asks', async () => {
    const gone = process()
    const [a, b] = [await ask(gone, 'a'), await ask(gone, 'b')]
    const pushes = process()
    const taken = await Promise.all([
      pushes.take(answerTo(a.question, 'A'), owner),
      pushes.take(answerTo(b.question, 'B'), owner),
    ])
    expect(taken).toMatchObject([{ id: 1, params: { inputResponses: { a: { roots: ['A'] } } } }, undefined])
    const carried = { id: 'call', key: 'b', body: () => ({}) }
    const unasked = (): never => expect.unreachable()
    expect(await pushes.push(call, request, carried, stream, unasked)).toEqual({ roots: ['B'] })
  })

  test('revive nothing once the call has ended where it went on', async () => {
    const { question } = await ask(process(), 'a')
    const pushes = process()
    expect(await pushes.take(answerTo(question, 'A'), owner)).toBeDefined()
    pushes.end('call')
    expect(await pushes.take(answerTo(question, 'A'), owner)).toBeUndefined()
  })
})

test('a call that ends takes its open questions with it, and a late answer to one changes nothing', async () => {
  const pushes = process()
  const { question, answer } = await ask(pushes, 'a')
  expect(pushes.end('call')).toEqual([question['id']])
  await expect(answer).rejects.toThrow('The request has ended.')
  expect(await pushes.take(answerTo(question, 'A'), owner)).toBeUndefined()
})

test('instances that share a ledger revive a call once between them', async () => {
  const { question } = await ask(process(), 'a')
  const ledger = memoryLedger()
  const takes = [process({ ledger }), process({ ledger })].map((pushes) => pushes.take(answerTo(question, 'A'), owner))
  expect((await Promise.all(takes)).filter(Boolean)).toHaveLength(1)
})

test('what cannot travel or be stored is served by the process that asked', async () => {
  const broken = { put: () => Promise.reject(new Error('full')), get: async () => undefined, delete: async () => {} }
  for (const options of [{ sealer: createSealer({ ...sealing, maxBytes: 100 }) }, { store: broken }]) {
    const pushes = process(options)
    const { question, answer } = await ask(pushes, 'a')
    await pushes.take(answerTo({ id: question['id'] }, 'A'), owner)
    expect(await answer).toEqual({ roots: ['A'] })
  }
})
