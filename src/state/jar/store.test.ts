import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import { type Jar, type JarFilter, type JarOptions, memoryJar, sqliteJar } from '../index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-jar-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let nowMs = 1_000_000
const clock = () => nowMs
let files = 0
const stores: [string, (options?: JarOptions) => Jar][] = [
  ['in memory', (options) => memoryJar({ clock, ...options })],
  ['in SQLite', (options) => sqliteJar({ path: join(folder, `${++files}.db`), clock, ...options })],
]
const ann = { server: 'shop.example.com', principal: 'ann', context: 'one' }
const STRANGE = ['__proto__', 'constructor', '', ' ', 'a\0b', 'a', '\ud800', '\udfff', '\ufffd', '"', '💩', "'; DROP"]

for (const [where, makeJar] of stores) {
  describe(`a jar ${where}`, () => {
    test(`gives state to the server that set it, and to no other (${where})`, async () => {
      const jar = makeJar()
      await jar.write(ann, { session: { a: 1 }, server: { b: 2 } })
      expect(await jar.read(ann)).toEqual({ session: { a: 1 }, server: { b: 2 } })
      for (const server of ['example.com', 'www.shop.example.com', 'shop.example.com.', 'SHOP.example.com', '']) {
        expect(await jar.read({ ...ann, server })).toEqual({ session: {}, server: {} })
      }
    })

    test('keeps two principals apart in every operation, however they are called', async () => {
      const jar = makeJar()
      for (const principal of STRANGE)
        await jar.write({ ...ann, principal }, { session: { id: principal }, server: { id: principal } })
      for (const principal of STRANGE) {
        expect(await jar.read({ ...ann, principal })).toEqual({ session: { id: principal }, server: { id: principal } })
      }
      await jar.write({ ...ann, principal: 'a' }, { session: { id: null }, server: { id: 'changed' } })
      await jar.endContext({ ...ann, principal: '' })
      await jar.clear({ principal: ' ' })
      const left = (await jar.list()).length
      expect(left).toBe(2 * STRANGE.length - 1 - 1 - 2)
      expect(await jar.read({ ...ann, principal: 'a\0b' })).toEqual({ session: { id: 'a\0b' }, server: { id: 'a\0b' } })
    })

    test('keeps strange names, servers and contexts apart, and gives them back as they were', async () => {
      const jar = makeJar()
      for (const text of STRANGE) {
        await jar.write({ ...ann, context: text }, { session: { [`of ${text}`]: text } })
        await jar.write({ ...ann, server: text }, { server: Object.fromEntries([[text, text]]) })
      }
      for (const text of STRANGE) {
        expect((await jar.read({ ...ann, context: text })).session).toEqual({ [`of ${text}`]: text })
        expect(Object.entries((await jar.read({ ...ann, server: text })).server)).toEqual([[text, text]])
      }
      expect(new Set((await jar.list()).map(({ server }) => server))).toEqual(new Set([ann.server, ...STRANGE]))
      expect((await jar.list({ server: '\ud800' })).map(({ name }) => name)).toEqual(['\ud800'])
    })

    test(`session state ends with its context, and with no other (${where})`, async () => {
      const jar = makeJar()
      const [other, elsewhere] = [
        { ...ann, context: 'two' },
        { ...ann, server: 'other.example.com' },
      ]
      for (const owner of [ann, other, elsewhere]) await jar.write(owner, { session: { a: 1 }, server: { b: 2 } })
      await jar.endContext(ann)
      await jar.endContext({ principal: 'bob', context: 'two' })
      expect(await jar.read(ann)).toEqual({ session: {}, server: { b: 2 } })
      expect(await jar.read(elsewhere)).toEqual({ session: {}, server: { b: 2 } })
      expect(await jar.read(other)).toEqual({ session: { a: 1 }, server: { b: 2 } })
    })

    test(`a context that nobody uses any more is over, too; reading is using (${where})`, async () => {
      const jar = makeJar({ sessionIdleSeconds: 3600 })
      const used = { ...ann, context: 'used' }
      for (const owner of [ann, used]) await jar.write(owner, { session: { a: 1 } })
      await jar.write(ann, { server: { b: 2 } })
      nowMs += 1_800_000
      await jar.read(used)
      nowMs += 1_800_000
      expect(await jar.read(ann)).toEqual({ session: {}, server: { b: 2 } })
      expect((await jar.read(used)).session).toEqual({ a: 1 })
      expect(await jar.list()).toHaveLength(2)
    })

    proves('CS-11', `server state lives on in other contexts until the server removes it (${where})`, async () => {
      const jar = makeJar()
      await jar.write(ann, { server: { id: 7 } })
      await jar.endContext(ann)
      nowMs += 5 * 365 * 86_400_000
      expect((await jar.read({ ...ann, context: 'years later' })).server).toEqual({ id: 7 })
      await jar.write({ ...ann, context: 'years later' }, { server: { id: null } })
      expect((await jar.read(ann)).server).toEqual({})
    })

    proves('CS-12', `everything can be cleared at any time, by server, principal and name (${where})`, async () => {
      const jar = makeJar()
      const fill = async () => {
        for (const server of ['a.example.com', 'b.example.com']) {
          for (const principal of ['ann', 'bob']) {
            await jar.write({ server, principal, context: 'c' }, { session: { x: 1, y: 1 }, server: { x: 1 } })
          }
        }
      }
      const filters: [JarFilter, number][] = [
        [{ server: 'a.example.com' }, 6],
        [{ principal: 'bob' }, 6],
        [{ name: 'x' }, 8],
        [{ server: 'a.example.com', principal: 'ann', name: 'y' }, 1],
        [{ server: 'nobody.example.com' }, 0],
        [{}, 12],
      ]
      for (const [filter, count] of filters) {
        await fill()
        expect(await jar.list(filter)).toHaveLength(count)
        expect(await jar.clear(filter)).toBe(count)
        expect(await jar.list(filter)).toEqual([])
        expect(await jar.list()).toHaveLength(12 - count)
      }
      await fill()
      expect(await jar.remove({ server: 'a.example.com', name: 'y' })).toMatchObject([
        { principal: 'ann', context: 'c', scope: 'session', name: 'y', bytes: 2 },
        { principal: 'bob', context: 'c', scope: 'session', name: 'y', bytes: 2 },
      ])
    })

    test('lists what it keeps without values, and shows values when asked', async () => {
      const jar = makeJar()
      await jar.write(ann, { session: { cart: ['secret'] }, server: { id: 1 } })
      const times = { updatedAt: nowMs, usedAt: nowMs }
      const { server, principal } = ann
      const cart = { server, principal, context: 'one', scope: 'session', name: 'cart', bytes: 14, ...times }
      const id = { server, principal, context: undefined, scope: 'server', name: 'id', bytes: 3, ...times }
      expect(await jar.list()).toEqual(expect.arrayContaining([cart, id]))
      expect(await jar.show({ name: 'cart' })).toEqual([{ ...cart, value: ['secret'] }])
      nowMs += 3_600_000
      expect(await jar.show({ name: 'id' })).toEqual([{ ...id, value: 1 }])
    })

    proves(
      'CS-23',
      `a host may set a maximum age, which counts from the last time a server set the value (${where})`,
      async () => {
        const jar = makeJar({ maxAgeSeconds: 10 })
        await jar.write(ann, { server: { again: 1, once: 1 }, session: { s: 1 } })
        nowMs += 6000
        await jar.write(ann, { server: { again: 1 } })
        nowMs += 4000
        expect(await jar.read(ann)).toEqual({ session: {}, server: { again: 1 } })
        expect(await jar.list()).toHaveLength(1)
        expect(await jar.clear({})).toBe(1)
      },
    )

    test('what ended leaves the store, and its room', async () => {
      const jar = makeJar({ maxAgeSeconds: 10, maxNamesPerServer: 2 })
      await jar.write(ann, { server: { a: 1, b: 1 } })
      nowMs += 60_000
      expect(await jar.write(ann, { server: { c: 1, d: 1 } })).toEqual([])
    })

    test('a name that is set goes after those that are older, also when its value is the same', async () => {
      const jar = makeJar({ maxNamesPerServer: 2 })
      await jar.write(ann, { server: { a: 1, b: 1 } })
      nowMs += 10
      expect(await jar.write(ann, { server: { a: 1, c: 1 } })).toMatchObject([{ kind: 'evicted', name: 'b' }])
      nowMs -= 600_000
      expect(await jar.write(ann, { server: { a: 1, d: 1 } })).toMatchObject([{ kind: 'evicted', name: 'c' }])
    })

    test('closing twice is no error', () => {
      const jar = makeJar()
      jar.close()
      jar.close()
    })
  })
}

const text = fc.constantFrom('a', 'b', '__proto__', '\ud800')
const owner = fc.record({ server: text, principal: text, context: text })
const state = fc.dictionary(
  fc.constantFrom('k', 'l', 'm', 'n', '\ud800'),
  fc.constantFrom(null, 1, 'text', 'x'.repeat(50)),
)
const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constant('write' as const), owner, fc.record({ session: state, server: state })),
  },
  { weight: 3, arbitrary: fc.tuple(fc.constant('read' as const), owner, fc.constant({})) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('endContext' as const), owner, fc.constant({})) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('clear' as const), owner, fc.constant({})) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('wait' as const), owner, fc.constant({})) },
)
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never

const step = async (jar: Jar, [kind, at, change]: Operation): Promise<unknown> => {
  if (kind === 'write') return jar.write(at, change)
  if (kind === 'read') return jar.read(at)
  if (kind === 'endContext') return jar.endContext(at)
  if (kind === 'clear') return jar.clear({ server: at.server, principal: at.principal })
  return jar.list()
}

const byKey = (entries: readonly object[]) =>
  entries.map((entry) => JSON.stringify(entry, Object.keys(entry).toSorted())).toSorted()

test('memory and SQLite do the same, whatever is asked of them', async () => {
  const options = { maxNamesPerServer: 3, maxNames: 6, maxBytes: 40, sessionIdleSeconds: 600, clock }
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
      const [memory, sqlite] = [memoryJar(options), sqliteJar({ path: ':memory:', ...options })]
      for (const one of operations) {
        nowMs += one[0] === 'wait' ? 200_000 : 1
        const [expected, given] = [await step(memory, one), await step(sqlite, one)]
        if (Array.isArray(expected)) expect(byKey(given as object[])).toEqual(byKey(expected))
        else expect(given).toEqual(expected)
        expect(byKey(await sqlite.show({}))).toEqual(byKey(await memory.show({})))
      }
      sqlite.close()
    }),
  )
})
