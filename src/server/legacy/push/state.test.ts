/** Where the state of a pushed question stands, and when it is in the store. */
import { describe, expect, test } from 'vitest'
import type { InputRequest } from '@modelcontextprotocol/client'
import { newJournal, writeJournal } from '../../../journal/index.ts'
import { createSealer, ephemeralKeyring } from '../../../state/seal/index.ts'
import { type CarryStore, memoryCarryStore } from '../../../state/stores/index.ts'
import type { Call } from '../../call.ts'
import { type Carry, CarryRules } from '../../catalog/carry.ts'
import { legacyPeer } from '../session.ts'
import { PushStates } from './state.ts'

const stream = { name: 'stream', position: 0, connected: true, noteOwed() {} }
const asking = { id: 'call', key: 'a', generation: 0, body: () => writeJournal(newJournal('call')) }
const form: InputRequest = {
  method: 'elicitation/create',
  params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} }, _meta: { mine: 1 } },
}

function begin(at: string[] | undefined, carry: Carry = 'client', failure?: Error) {
  const log: string[] = []
  const slowly = async (what: string) => {
    await new Promise((resolve) => setImmediate(resolve))
    if (failure !== undefined) throw failure
    log.push(what)
  }
  const store: CarryStore = {
    ...memoryCarryStore(),
    put: (id, _, expiresAt) => slowly(`put ${id} until ${expiresAt}`),
    delete: (id) => slowly(`delete ${id}`),
  }
  const warn = (_: object, text: string) => void log.push(text)
  const states = new PushStates({
    sealer: createSealer({ keyring: ephemeralKeyring(), audience: 'test' }),
    rules: new CarryRules(carry, true),
    store,
    ttlSeconds: 60,
    clock: () => 1_000_000_500,
    onDifference() {},
    logger: () => ({ debug() {}, info() {}, warn, error() {} }),
  })
  const capabilities = at === undefined ? {} : { experimental: { 'dev.pannier/state-echo': { at } } }
  const peer = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities }), session: 's' }
  const call = { peer, principal: undefined, id: 1, method: 'tools/call', params: {} } as unknown as Call
  const write = (request: InputRequest = form) =>
    states.write({ id: 'i', question: 'q' }, request, call, asking, stream)
  return { states, write, log }
}

describe('the state of a question', () => {
  test('stands beside it where the client takes it there', async () => {
    const message = await begin(['meta', 'top']).write()
    expect(message).toEqual({ jsonrpc: '2.0', id: 'i', ...form, state: expect.any(String) })
  })

  test('stands in its metadata where the client takes it only there, beside what is there already', async () => {
    const { params } = (await begin(['meta']).write()) as { params: { _meta: object } }
    expect(params).toMatchObject({ message: 'Sure?', _meta: { mine: 1, 'dev.pannier/state': expect.any(String) } })
    const bare = (await begin(['meta']).write({ method: 'roots/list' })) as { params: object }
    expect(bare.params).toEqual({ _meta: { 'dev.pannier/state': expect.any(String) } })
  })

  test('is kept from a client that does not take it', async () => {
    expect(await begin(undefined).write()).toEqual({ jsonrpc: '2.0', id: 'i', ...form })
  })

  test('is in the store when the question is out, and gone when it was forgotten', async () => {
    const { states, write, log } = begin(undefined, 'store')
    expect(await write()).toEqual({ jsonrpc: '2.0', id: 'i', ...form })
    expect(log).toEqual(['put q until 1000061'])
    await states.forget('q')
    expect(log).toEqual(['put q until 1000061', 'delete q'])
    await states.forget('q')
    await states.forget('other')
    expect(log).toHaveLength(2)
  })

  test('that cannot be stored is only warned of', async () => {
    const { write, log } = begin(['top'], 'both', new Error('away'))
    expect(await write()).toHaveProperty('state')
    expect(log).toEqual(['The store could not save the state of a question.'])
  })
})

test('a page to visit has an id in the session era, and a form has none', async () => {
  const visit = { method: 'elicitation/create', params: { mode: 'url', message: 'Go.', url: 'https://a.example' } }
  const sent = (await begin(undefined).write(visit as InputRequest)) as { params: object }
  expect(sent.params).toEqual({ ...visit.params, elicitationId: 'q' })
  expect(((await begin(undefined).write()) as { params: object }).params).not.toHaveProperty('elicitationId')
})
