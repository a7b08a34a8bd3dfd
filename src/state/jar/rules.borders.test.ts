/** The limits of a jar, to the one. */
import { expect, test } from 'vitest'
import { createJar, isKnown, type JarBackend, jarSettings } from './jar.ts'
import { type JarOwner, memoryJar } from './index.ts'

const owner: JarOwner = { server: 'example.com', principal: 'ann', context: 'tab' }
const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`name ${n}`, n]))

test('a name and its value may have exactly so many bytes, counted in UTF-8', async () => {
  const jar = memoryJar({ maxBytes: 10 })
  expect(await jar.write(owner, { session: { ü: '12345' } })).toEqual([]) // 2 bytes, and 7 with quotes
  expect(await jar.write(owner, { session: { ü: '123456' } })).toEqual([])
  expect(await jar.write(owner, { session: { ü: '1234567' } })).toEqual([
    { kind: 'refused', scope: 'session', name: 'ü', reason: expect.stringContaining('have 11 bytes; the limit is 10') },
  ])
  expect(await jar.read(owner)).toEqual({ session: { ü: '123456' }, server: {} })
})

test('a change may set as many names as fit, and says how many more it had', async () => {
  const jar = memoryJar({ maxNamesPerServer: 3 })
  expect(await jar.write(owner, { session: names(3) })).toEqual([])
  expect(await jar.write(owner, { session: names(4) })).toEqual([
    {
      kind: 'refused',
      scope: 'session',
      name: '',
      reason: expect.stringMatching(/^1 names too many .* limit is 3\.$/),
    },
  ])
})

test('a change may have a thousand names, and one of more is not read', async () => {
  const jar = memoryJar({ maxNamesPerServer: 2000, maxNames: 2000 })
  expect(await jar.write(owner, { session: names(1001) })).toEqual([
    { kind: 'refused', scope: 'session', name: '', reason: expect.stringContaining('has 1001 names') },
  ])
  expect(await jar.list()).toEqual([])
  expect(await jar.write(owner, { session: names(1000) })).toEqual([])
  expect(await jar.list()).toHaveLength(1000)
})

test('a long name is shortened in what is told of it', async () => {
  const told = async (chars: number) => {
    const [news] = await memoryJar({ maxBytes: 10 }).write(owner, { session: { ['x'.repeat(chars)]: 1 } })
    return news?.name
  }
  expect([await told(128), await told(129)]).toEqual(['x'.repeat(128), `${'x'.repeat(127)}…`])
})

test('a jar as full as it may be evicts nothing, and the next name the one that was unused the longest', async () => {
  let now = 1_000_000
  const jar = memoryJar({ maxNamesPerServer: 2, maxNames: 3, clock: () => now++ })
  const other = { ...owner, server: 'example.org' }
  await jar.write(owner, { session: { a: 1 } })
  await jar.write(owner, { session: { b: 1 } })
  expect(await jar.write(other, { session: { c: 1 } })).toEqual([])
  expect(await jar.write(other, { session: { d: 1 } })).toMatchObject([{ kind: 'evicted', name: 'a' }])
  expect(await jar.write(other, { session: { e: 1 } })).toMatchObject([{ kind: 'evicted', name: 'c' }])
  expect((await jar.list()).map(({ name }) => name).toSorted()).toEqual(['b', 'd', 'e'])
})

test('state lives for exactly its time: a value since it was set, that of a session since it was used', async () => {
  let now = 1_000_000
  const jar = memoryJar({ maxAgeSeconds: 20, sessionIdleSeconds: 10, clock: () => now })
  await jar.write(owner, { session: { a: 1 }, server: { b: 1 } })
  now += 9_999
  expect(await jar.list()).toHaveLength(2)
  now += 1
  expect((await jar.list()).map(({ name }) => name)).toEqual(['b'])
  expect(await jar.read(owner)).toEqual({ session: {}, server: { b: 1 } })
  now += 9_999
  expect(await jar.read(owner)).toEqual({ session: {}, server: { b: 1 } })
  now += 1
  expect(await jar.read(owner)).toEqual({ session: {}, server: {} })
})

test.each([
  [{ maxBytes: 1 }, { maxBytes: 0 }],
  [{ maxNames: 1 }, { maxNames: 0 }],
  [{ sessionIdleSeconds: 0.001 }, { sessionIdleSeconds: 0 }],
  [{ maxAgeSeconds: 0.001 }, { maxAgeSeconds: 0 }],
])('%j is a limit, and %j is none', (least, less) => {
  expect(() => memoryJar(least)).not.toThrow()
  expect(() => memoryJar(less)).toThrow(expect.objectContaining({ code: 'STATE_OPTION' }))
})

test.each([
  ['at the border of what is recent', 100, false],
  ['just after it', 101, true],
  ['now', 200, true],
  ['in the future, by a clock that was set back', 201, false],
])('an equal value that was written %s is known: %s', (_, updatedAt, expected) => {
  const time = { now: 200, knownSince: 100 }
  expect(isKnown({ text: '1', updatedAt }, '1', time)).toBe(expected)
  expect(isKnown({ text: '2', updatedAt }, '1', time)).toBe(false)
})

test('the time of last use is written when a minute has passed since the last one, and not before', async () => {
  let nowMs = 1_000_000
  const jar = memoryJar({ clock: () => nowMs })
  await jar.write(owner, { session: { a: 1 } })
  const usedAt = async () => (await jar.list()).map((entry) => entry.usedAt)
  nowMs += 59_999
  await jar.read(owner)
  expect(await usedAt()).toEqual([1_000_000])
  nowMs += 1
  await jar.read(owner)
  expect(await usedAt()).toEqual([1_060_000])
})

test('what is removed is erased when that is told', async () => {
  let isErased = false
  const backend: Partial<JarBackend> = {
    atomically: async (run) => run(),
    entries: () => [],
    erase: async () => {
      await new Promise((resolve) => setImmediate(resolve))
      isErased = true
    },
  }
  await createJar(backend as JarBackend, jarSettings({})).remove({})
  expect(isErased).toBe(true)
})

test.each([
  ['not used for its time', { session: { a: 1 } }, { sessionIdleSeconds: 100 }],
  ['not set for its time', { server: { a: 1 } }, { maxAgeSeconds: 100 }],
])('what was %s, to the millisecond, takes no room from others', async (_, change, options) => {
  let now = 1_000_000
  const jar = memoryJar({ ...options, maxNames: 1, clock: () => now })
  await jar.write(owner, change)
  now += 100_000
  expect(await jar.write(owner, { server: { b: 1 } })).toEqual([])
})
