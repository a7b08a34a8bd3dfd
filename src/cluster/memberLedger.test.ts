import { describe, expect, test } from 'vitest'
import type { Json } from '../protocol/index.ts'
import { memoryLedger } from '../state/index.ts'
import { type Instance, Self } from './instance.ts'
import { type MemberLedger, memberLedger } from './memberLedger.ts'
import type { Delivery } from './messenger.ts'
import type { Members } from './members.ts'

/** A ledger of an instance among these peers; `reply` is what they answer. `isMeeting`: it has yet to meet one. */
function begin(
  ids: readonly string[],
  reply: (to: Instance, message: Json) => Promise<Delivery>,
  clock: () => number = Date.now,
  isMeeting = false,
) {
  const members = ids.map((id) => ({ id, url: undefined }))
  const lost: string[] = []
  const met = Promise.withResolvers<void>()
  if (!isMeeting) met.resolve()
  const there = () => members.filter(({ id }) => !lost.includes(id))
  const known: Partial<Members> = {
    all: async () => there(),
    staying: async () => {
      await met.promise
      return there()
    },
    knownToStay: there,
    lose: ({ id }) => void lost.push(id),
  }
  const local = memoryLedger({ clock })
  const options = { self: new Self(), members: known as Members, messenger: { send: reply }, local, clock }
  const meet = (id: string): void => {
    members.push({ id, url: undefined })
    met.resolve()
  }
  return { ledger: memberLedger(options), local, lost, meet }
}

const gone = async (): Promise<Delivery> => ({ kind: 'gone', why: 'refused' })
const fresh = { state: 'fresh' }
const running = { state: 'running' }

/** What one instance asks another, as it goes over the wire. */
function servedBy(keeper: () => MemberLedger) {
  return async (_: Instance, message: Json): Promise<Delivery> => {
    const reply = await keeper().serve(JSON.parse(JSON.stringify(message)) as Json)
    return { kind: 'delivered', response: Response.json(reply) }
  }
}

describe('claims between instances', () => {
  test('are kept by the one with the smallest id, and this one has none of them', async () => {
    // Smaller than every id of an instance: these are base64url.
    const other = begin([], gone)
    const asked: string[] = []
    const { ledger, local } = begin(['!second', '!', '!third'], (to, message) => {
      asked.push(to.id)
      return servedBy(() => other.ledger)(to, message)
    })
    expect([await ledger.claim('pay', 60), await ledger.claim('pay', 60)]).toEqual([fresh, running])
    expect(await other.local.claim('pay', 60)).toEqual(running)
    await ledger.settle('pay', 'paid')
    expect(await ledger.claim('pay', 60)).toEqual({ state: 'done', value: 'paid' })
    expect(await local.claim('pay', 60)).toEqual(fresh)
    await ledger.claim('ship', 60)
    await ledger.release('ship')
    expect(await other.local.claim('ship', 60)).toEqual(fresh)
    expect(new Set(asked)).toEqual(new Set(['!']))
  })

  test('of a keeper that stops are kept by the next one, settled or not, and the keeper is asked no more', async () => {
    const next = begin([], gone)
    const keeper = begin(
      ['~next'],
      servedBy(() => next.ledger),
    )
    await keeper.ledger.claim('pay', 60, 'ann')
    await keeper.ledger.settle('pay', 'paid')
    await keeper.ledger.claim('ship', 60)
    await keeper.ledger.claim('given up', 60)
    await keeper.ledger.release('given up')
    const asked: string[] = []
    const { ledger, lost } = begin(['!keeper', '!next'], (to, message) => {
      asked.push(to.id)
      return servedBy(() => (to.id === '!keeper' ? keeper.ledger : next.ledger))(to, message)
    })
    await keeper.ledger.handOff()
    expect(await ledger.claim('pay', 60)).toEqual({ state: 'done', value: 'paid' })
    expect(await ledger.claim('ship', 60)).toEqual(running)
    expect(await ledger.claim('given up', 60)).toEqual(fresh)
    expect([lost, asked]).toEqual([[], ['!keeper', '!next', '!next', '!next']])
    expect(await keeper.ledger.claim('ship', 60)).toEqual(running) // its own claims go to the next one, too
  })

  test('of a keeper that knows no other stay with it, until it has met one', async () => {
    const next = begin([], gone)
    const keeper = begin(
      [],
      servedBy(() => next.ledger),
    )
    await keeper.ledger.claim('pay', 60)
    await keeper.ledger.handOff()
    expect(await keeper.ledger.claim('pay', 60)).toEqual(running)
    keeper.meet('~next')
    await keeper.ledger.handOff()
    expect(await next.local.claim('pay', 60)).toEqual(running)
  })

  test('of a keeper that stops while it meets its first member go to that member', async () => {
    const next = begin([], gone)
    const keeper = begin(
      [],
      servedBy(() => next.ledger),
      Date.now,
      true,
    )
    await keeper.ledger.claim('pay', 60)
    const handedOff = keeper.ledger.handOff()
    keeper.meet('~next')
    await handedOff
    expect(await next.local.claim('pay', 60)).toEqual(running)
  })

  test('of a keeper that stops go to another one where the next is gone', async () => {
    const last = begin([], gone)
    const keeper = begin(['~gone', '~last'], (to, message) =>
      to.id === '~gone' ? gone() : servedBy(() => last.ledger)(to, message),
    )
    await keeper.ledger.claim('pay', 60)
    await keeper.ledger.handOff()
    expect([keeper.lost, await last.local.claim('pay', 60)]).toEqual([['~gone'], running])
  })

  test('that have expired are not handed off, whatever was claimed before them', async () => {
    let now = 0
    const taken: unknown[] = []
    const take = async (_: Instance, message: Json): Promise<Delivery> => {
      taken.push(...(message['claims'] as readonly unknown[]))
      return { kind: 'delivered', response: Response.json({}) }
    }
    const { ledger } = begin(['~next'], take, () => now)
    await ledger.claim('long', 3600)
    await ledger.claim('short', 10)
    now += 20_000
    await ledger.handOff()
    expect(taken).toEqual([['long', 3580, null, false, undefined]])
  })

  test('are kept here where no other has a smaller id', async () => {
    const { ledger, local } = begin(['~'], gone)
    expect(await ledger.claim('pay', 60)).toEqual(fresh)
    expect(await local.claim('pay', 60)).toEqual(running)
    await ledger.release('pay')
    expect(await local.claim('pay', 60)).toEqual(fresh)
    await ledger.settle('pay', 'paid')
    expect(await local.claim('pay', 60)).toEqual({ state: 'done', value: 'paid' })
  })

  test('go on with the next where the keeper is gone, or replies nothing that can be read', async () => {
    const { ledger, lost, local } = begin(['!', '!second'], async ({ id }) =>
      id === '!' ? gone() : { kind: 'delivered', response: new Response('no JSON') },
    )
    expect([await ledger.claim('pay', 60), lost]).toEqual([fresh, ['!', '!second']])
    expect(await local.claim('pay', 60)).toEqual(running)
  })

  test('that the keeper does not take are an error, and nobody else takes them', async () => {
    const { ledger, lost } = begin(['!'], async () => ({ kind: 'delivered', response: Response.json({}) }))
    await expect(ledger.claim('pay', 60)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(lost).toEqual([])
  })

  test.each([
    ['here', []],
    ['elsewhere', ['!']],
  ])('that are kept %s are settled and released when that is done', async (_, ids) => {
    const keeper = begin([], gone)
    const { ledger, local } = begin(
      ids,
      servedBy(() => keeper.ledger),
    )
    const kept = ids.length === 0 ? local : keeper.local
    for (const op of ['settle', 'release'] as const) {
      const original = kept[op].bind(kept) as (...args: unknown[]) => Promise<void>
      let isDone = false
      kept[op] = async (...args: unknown[]) => {
        await new Promise((resolve) => setImmediate(resolve))
        await original(...args)
        isDone = true
      }
      await ledger.claim(op, 60)
      await ledger[op](op, 'value')
      expect(isDone).toBe(true)
    }
  })

  test('whose reply is lost are the same claim when they are sent again, and no other', async () => {
    const keeper = begin([], gone)
    const twice = async (to: Instance, message: Json): Promise<Delivery> => {
      const deliver = servedBy(() => keeper.ledger)
      await deliver(to, message)
      return deliver(to, message)
    }
    const { ledger } = begin(['!'], twice)
    expect([await ledger.claim('pay', 60), await ledger.claim('pay', 60)]).toEqual([fresh, running])
  })

  test('name their holder, where there is one', async () => {
    const messages: Json[] = []
    const { ledger } = begin(['!'], async (_, message) => {
      messages.push(message)
      return { kind: 'delivered', response: Response.json(fresh) }
    })
    await ledger.claim('pay', 60, 'ann')
    await ledger.claim('pay', 60)
    expect(messages).toEqual([
      { kind: 'ledger', op: 'claim', id: 'pay', ttlSeconds: 60, attempt: expect.any(String), holder: 'ann' },
      { kind: 'ledger', op: 'claim', id: 'pay', ttlSeconds: 60, attempt: expect.any(String) },
    ])
  })
})
