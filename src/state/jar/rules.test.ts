import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import { type JarOptions, memoryJar } from '../index.ts'

const owner = { server: 'shop.example.com', principal: 'ann', context: 'chat' }
const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  ' ',
  'a\0b',
  'ä',
  '\ud83d',
  '💩',
  'Cart Contents',
]
const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: 'binary', maxLength: 6 }))
const json = fc.jsonValue({ maxDepth: 3 }).map((value): unknown => JSON.parse(JSON.stringify(value)))
// From entries, a name such as __proto__ is a member like any other, as it is in parsed JSON.
const dictionary = fc.array(fc.tuple(name, json), { maxLength: 8 }).map((entries) => Object.fromEntries(entries))
const change = fc.record({ session: dictionary, server: dictionary }, { requiredKeys: [] })

type Dictionary = Record<string, unknown>

/** The rules once more, as plainly as can be. */
function merged(before: Dictionary, set: Dictionary = {}): Dictionary {
  const entries = [...Object.entries(before).filter(([key]) => !Object.hasOwn(set, key)), ...Object.entries(set)]
  return Object.fromEntries(entries.filter(([, value]) => value !== null))
}

describe('setting state', () => {
  proves('CS-4', 'names are any strings, and values any JSON', async () => {
    await fc.assert(
      fc.asyncProperty(name, json, async (key, value) => {
        const jar = memoryJar()
        expect(await jar.write(owner, { server: Object.fromEntries([[key, value]]) })).toEqual([])
        const { server } = await jar.read(owner)
        expect(Object.entries(server)).toEqual(value === null ? [] : [[key, value]])
        expect(Object.getPrototypeOf(server)).toBe(Object.prototype)
      }),
    )
  })

  proves('CS-5', 'null deletes a name, and only that one', async () => {
    const jar = memoryJar()
    await jar.write(owner, { session: { a: 1, b: 2 }, server: { a: 3 } })
    await jar.write(owner, { session: { a: null, never: null } })
    expect(await jar.read(owner)).toEqual({ session: { b: 2 }, server: { a: 3 } })
    expect(await jar.list()).toHaveLength(2)
  })

  proves('CS-6 CS-7', 'state is additive, a name replaces its whole value, and nothing is merged deeper', async () => {
    const jar = memoryJar()
    await jar.write(owner, { session: { cart: { items: ['a'], price: 1 } } })
    await jar.write(owner, { session: { coupon: 'XYZZY' } })
    await jar.write(owner, { session: { cart: { price: 2, nothing: null } } })
    const { session } = await jar.read(owner)
    expect(session).toEqual({ cart: { price: 2, nothing: null }, coupon: 'XYZZY' })
  })

  proves('CS-5 CS-6 CS-7', 'any sequence of results leaves what the rules say, in each scope', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
        const jar = memoryJar({ maxNamesPerServer: 1000 })
        let [session, server]: Dictionary[] = [{}, {}]
        for (const set of changes) {
          expect(await jar.write(owner, set)).toEqual([])
          session = merged(session!, set.session)
          server = merged(server!, set.server)
        }
        const kept = await jar.read(owner)
        expect(new Map(Object.entries(kept.session))).toEqual(new Map(Object.entries(session!)))
        expect(new Map(Object.entries(kept.server))).toEqual(new Map(Object.entries(server!)))
      }),
    )
  })

  proves(
    'CS-22 CS-24',
    'what looks like an attribute is part of the value: no wider scope, no narrower method',
    async () => {
      const jar = memoryJar()
      const value = { value: 1, attributes: { 'server-scope': 'example.com', 'method-scope': 'tools', 'max-age': 1 } }
      await jar.write(owner, { server: { id: value } })
      expect((await jar.read(owner)).server).toEqual({ id: value })
      expect((await jar.read({ ...owner, server: 'example.com' })).server).toEqual({})
      expect((await jar.read({ ...owner, server: 'other.example.com' })).server).toEqual({})
    },
  )

  test('what is given and what was taken can be changed without changing what is kept', async () => {
    const jar = memoryJar()
    const value = { items: ['a'] }
    await jar.write(owner, { session: { cart: value } })
    value.items.push('b')
    const { session } = await jar.read(owner)
    session['cart'] = undefined
    expect((await jar.read(owner)).session).toEqual({ cart: { items: ['a'] } })
  })
})

describe('what cannot be kept is refused by itself', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic
  const malformed: [string, unknown][] = [
    ['a list', [1, 2]],
    ['a text', 'state'],
    ['a number', 7],
    ['null', null],
    ['true', true],
  ]
  test.each(malformed)('a state that is %s is refused, and the other one counts', async (_, state) => {
    const jar = memoryJar()
    const news = await jar.write(owner, { session: state, server: { kept: 1 } })
    const reason = 'The state that was set is not a dictionary.'
    expect(news).toEqual([{ kind: 'refused', scope: 'session', name: '', reason }])
    expect(await jar.read(owner)).toEqual({ session: {}, server: { kept: 1 } })
  })

  test.each([
    ['a bigint', 1n],
    ['a function', () => 1],
    ['a cycle', cyclic],
    ['a symbol', Symbol('x')],
  ])('a value that is %s is refused, and its neighbours count', async (_, value) => {
    const jar = memoryJar()
    const news = await jar.write(owner, { session: { bad: value, good: 1, absent: undefined } })
    expect(news).toEqual([{ kind: 'refused', scope: 'session', name: 'bad', reason: 'The value is not JSON.' }])
    expect((await jar.read(owner)).session).toEqual({ good: 1 })
  })

  const bytes = (count: number, key = 'name') => 'x'.repeat(count - key.length - '""'.length)
  proves(
    'CS-25',
    'a key may have 4096 bytes of name and value together; one more is refused, and the old value stays',
    async () => {
      const jar = memoryJar()
      expect(await jar.write(owner, { server: { name: bytes(4096) } })).toEqual([])
      expect(await jar.list()).toMatchObject([{ name: 'name', bytes: 4096 }])
      const reason = 'Name and value have 4097 bytes; the limit is 4096.'
      const refusal = { kind: 'refused', scope: 'server', name: 'name', reason }
      expect(await jar.write(owner, { server: { name: bytes(4097), next: 1 } })).toEqual([refusal])
      expect((await jar.read(owner)).server).toEqual({ name: bytes(4096), next: 1 })
    },
  )

  test('bytes are counted, not characters, in names too; a long name is cut in the news', async () => {
    const jar = memoryJar()
    expect(await jar.write(owner, { server: { ['ä'.repeat(2047)]: 10 } })).toEqual([])
    const [news] = await jar.write(owner, { server: { ['ä'.repeat(2048)]: 10 } })
    expect(news).toMatchObject({ kind: 'refused', name: `${'ä'.repeat(127)}…` })
  })

  test('ten megabytes, in one value or in many, are refused in little time and few words', async () => {
    const jar = memoryJar()
    await jar.write(owner, { server: { id: 1 } })
    const one = await jar.write(owner, { server: { huge: 'x'.repeat(10_000_000), id: 2 } })
    expect(one).toMatchObject([{ kind: 'refused', name: 'huge' }])
    const many = (count: number, value: unknown) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`name ${index}`, value]))
    const news = await jar.write(owner, { session: many(1_000, 'x'.repeat(40)) })
    const reason = '980 names too many were set at once; the limit is 20.'
    expect(news[0]).toEqual({ kind: 'refused', scope: 'session', name: '', reason })
    expect(news).toHaveLength(2)
    for (const value of [null, 'x', 'x'.repeat(5_000)]) {
      const sentence = 'The state that was set has 200000 names; at most 1000 are read.'
      const refusal = { kind: 'refused', scope: 'server', name: '', reason: sentence }
      expect(await jar.write(owner, { server: many(200_000, value) })).toEqual([refusal])
    }
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(await jar.write(owner, { server: { deep } })).toMatchObject([{ kind: 'refused', name: 'deep' }])
  })
})

describe('room', () => {
  proves(
    'CS-25',
    'a server has 20 names, and the least recently used one makes room, of which the host hears',
    async () => {
      let now = 0
      const jar = memoryJar({ clock: () => (now += 1000) })
      const other = { ...owner, server: 'other.example.com' }
      await jar.write(other, { server: { a: 1 } })
      for (let index = 0; index < 20; index++)
        expect(await jar.write(owner, { server: { [`n${index}`]: index } })).toEqual([])
      const reason = 'The server has more than 20 names. This one, of shop.example.com, was unused the longest.'
      const eviction = { kind: 'evicted', scope: 'server', name: 'n0', reason }
      expect(await jar.write(owner, { session: { more: 1 } })).toEqual([eviction])
      const { server } = await jar.read(owner)
      expect(Object.keys(server)).toEqual(Array.from({ length: 19 }, (_, index) => `n${index + 1}`))
      expect((await jar.read(other)).server).toEqual({ a: 1 })
    },
  )

  proves('CS-25', 'there are 300 names in all, and what was sent lately stays', async () => {
    let now = 0
    const jar = memoryJar({ clock: () => (now += 1000) })
    const server = (index: number) => ({ ...owner, server: `s${index}.example.com` })
    const fifteen = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`n${index}`, index]))
    for (let index = 0; index < 20; index++) expect(await jar.write(server(index), { server: fifteen })).toEqual([])
    now += 60_000
    await jar.read(server(0))
    const news = await jar.write(server(19), { server: { one: 1, two: 2 } })
    expect(news.map(({ kind, reason }) => `${kind}: ${reason}`)).toEqual(
      Array(2).fill(
        'evicted: All servers together have more than 300 names. This one, of s1.example.com, was unused the longest.',
      ),
    )
    expect(await jar.list()).toHaveLength(300)
    expect(Object.keys((await jar.read(server(0))).server)).toHaveLength(15)
  })

  test('a limit counts for each principal, and for each context with the server state it sends', async () => {
    const jar = memoryJar({ maxNamesPerServer: 3, maxNames: 6 })
    const three = { a: 1, b: 1, c: 1 }
    expect(await jar.write(owner, { session: three })).toEqual([])
    expect(await jar.write({ ...owner, context: 'other' }, { session: three })).toEqual([])
    expect(await jar.write({ ...owner, principal: 'bob' }, { session: three })).toEqual([])
    const news = await jar.write({ ...owner, context: 'third' }, { server: { d: 1 } })
    expect(news).toMatchObject([{ scope: 'session' }, { scope: 'session' }])
    for (const context of ['chat', 'other']) {
      const { session, server } = await jar.read({ ...owner, context })
      expect(Object.keys({ ...session, ...server })).toHaveLength(3)
    }
    expect((await jar.read({ ...owner, principal: 'bob' })).session).toEqual(three)
  })

  proves('CS-25', 'whatever servers set, limits hold and every name that is missing was told of', async () => {
    const owners = fc.record({
      server: fc.constantFrom('a.example.com', 'b.example.com', 'c.example.com'),
      principal: fc.constantFrom('ann', 'bob'),
      context: fc.constantFrom('one', 'two'),
    })
    const limits = { maxNamesPerServer: 4, maxNames: 9, maxBytes: 40 }
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(owners, change), { maxLength: 25 }), async (writes) => {
        let now = 0
        const jar = memoryJar({ ...limits, clock: () => (now += 40_000) })
        for (const [at, set] of writes) {
          const before = await jar.list()
          const news = await jar.write(at, set)
          const after = await jar.list({ principal: at.principal })
          expect(after.length).toBeLessThanOrEqual(limits.maxNames)
          expect(after.every(({ bytes }) => bytes <= limits.maxBytes)).toBe(true)
          for (const context of ['one', 'two']) {
            const { session, server } = await jar.read({ ...at, context })
            expect(Object.keys(session).length + Object.keys(server).length).toBeLessThanOrEqual(
              limits.maxNamesPerServer,
            )
          }
          const isHere = (entry: object) => after.some((kept) => expect.objectContaining(entry).asymmetricMatch(kept))
          const isTold = (scope: string, named: string) => news.some((n) => n.scope === scope && n.name === named)
          const isMany = (scope: string) => isTold(scope, '') && news.some(({ reason }) => reason.includes('at once'))
          for (const { server, context, scope, name: old } of before.filter(
            (entry) => entry.principal === at.principal,
          )) {
            const isDeleted =
              server === at.server && (context === undefined || context === at.context) && set[scope]?.[old] === null
            expect(isHere({ server, context, scope, name: old }) || isDeleted || isTold(scope, old)).toBe(true)
          }
          for (const scope of ['session', 'server'] as const) {
            const context = scope === 'session' ? at.context : undefined
            for (const [key, value] of Object.entries(set[scope] ?? {})) {
              const isKept = isHere({ server: at.server, context, name: key })
              expect(value === null || isKept || isTold(scope, key) || isMany(scope)).toBe(true)
            }
          }
        }
      }),
    )
  })

  test('limits and ages that make no sense are refused', () => {
    const wrong: JarOptions[] = [
      { maxBytes: 0 },
      { maxNames: 1.5 },
      { maxNames: Number.NaN },
      { maxNamesPerServer: -1 },
      { maxAgeSeconds: 0 },
      { maxAgeSeconds: -1 },
      { maxAgeSeconds: 34_560_001 },
      { sessionIdleSeconds: 0 },
    ]
    for (const options of wrong) {
      const name = Object.keys(options)[0]!
      expect(() => memoryJar(options), name).toThrow(expect.objectContaining({ code: 'STATE_OPTION' }))
      expect(() => memoryJar(options), name).toThrow(name)
    }
    memoryJar({ maxAgeSeconds: 34_560_000 })
  })
})
