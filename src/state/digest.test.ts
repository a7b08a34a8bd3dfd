import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digestOf } from './index.ts'

const json = fc
  .jsonValue({ noUnicodeString: false, maxDepth: 5 })
  .map((value): unknown => JSON.parse(JSON.stringify(value)))

/** The same value with the members of every object in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([key, member]) => [key, shuffled(member)] as const)
  return Object.fromEntries(members.reverse())
}

test('the digest does not depend on the order of members', () => {
  fc.assert(
    fc.property(json, (value) => digestOf(shuffled(value)) === digestOf(value)),
    { numRuns: 3000 },
  )
})

test('values that differ have digests that differ', () => {
  const seen = new Map<string, unknown>()
  fc.assert(
    fc.property(json, (value) => {
      const digest = digestOf(value)
      if (seen.has(digest)) expect(seen.get(digest)).toEqual(value)
      seen.set(digest, value)
    }),
    { numRuns: 5000 },
  )
  expect(seen.size).toBeGreaterThan(1000)
})

test('values that are easily confused have digests of their own', () => {
  const values = [undefined, null, 'null', '', {}, [], [[]], [{}], [null], 0, '0', false, 'false', { a: 1 }, { a: '1' }]
  const tricky = [
    ['a', 'b'],
    ['a,b'],
    ['a","b'],
    { a: { b: 1 } },
    { 'a.b': 1 },
    { '"a"': 1 },
    '\ud800',
    '\ud801',
    '\ufffd',
  ]
  const digests = [...values, ...tricky].map(digestOf)
  expect(new Set(digests).size).toBe(digests.length)
})

test('the digest is SHA-256 over canonical JSON, cut to 22 characters of base64url', () => {
  // RFC 8785, 3.2.3: members are sorted by UTF-16 code units.
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'CR',
    '\ufb33': 'Dalet',
    '1': 'One',
    '\u{1f600}': 'Emoji',
    '\u0080': 'C',
    ö: 'o',
  }
  const text = '{"\\r":"CR","1":"One","\u0080":"C","ö":"o","\u20ac":"Euro Sign","\u{1f600}":"Emoji","\ufb33":"Dalet"}'
  expect(digestOf(value)).toBe(createHash('sha256').update(text).digest('base64url').slice(0, 22))
  expect(digestOf({ n: [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, 0] })).toBe(
    createHash('sha256').update('{"n":[333333333.3333333,1e+30,4.5,0.002,1e-27,0]}').digest('base64url').slice(0, 22),
  )
})

test('what JSON leaves out or writes in another form does not change the digest', () => {
  expect(digestOf({ b: 1, a: undefined })).toBe(digestOf({ b: 1 }))
  expect(digestOf({ z: [undefined], a: null })).toBe(digestOf({ a: null, z: [null] }))
  expect(digestOf({ z: 1, at: new Date(0) })).toBe(digestOf({ at: '1970-01-01T00:00:00.000Z', z: 1 }))
  expect(digestOf({ toJSON: 'a name like any other', a: 1 })).toBe(digestOf({ a: 1, toJSON: 'a name like any other' }))
  // oxlint-disable-next-line no-sparse-arrays
  expect(digestOf([{ b: 1, a: 1 }, , 1])).toBe(digestOf([{ a: 1, b: 1 }, null, 1]))
})

test('numbers that JSON would write alike have digests of their own, or none', () => {
  expect(digestOf({ n: -0 })).not.toBe(digestOf({ n: 0 }))
  for (const lost of [JSON.parse('1e400'), JSON.parse('-1e400'), Number.NaN]) {
    expect(() => digestOf({ limit: lost })).toThrow(expect.objectContaining({ code: 'STATE_NOT_JSON' }))
  }
})

test('a member named __proto__ counts', () => {
  expect(digestOf(JSON.parse('{"b":1,"__proto__":{"a":1}}'))).toBe(digestOf(JSON.parse('{"__proto__":{"a":1},"b":1}')))
  expect(digestOf(JSON.parse('{"__proto__":{"a":1}}'))).not.toBe(digestOf({}))
})

test.each([1000, 1900])('a value nested %d levels deep has a digest', (depth) => {
  expect(digestOf(JSON.parse('[{"b":1,"a":'.repeat(depth / 2) + '1' + '}]'.repeat(depth / 2)))).toHaveLength(22)
})

test.each([3000, 10_000, 1_000_000])('a value nested %d levels deep is refused, and the stack holds', (depth) => {
  const value: unknown = JSON.parse('['.repeat(depth) + ']'.repeat(depth))
  expect(() => digestOf(value)).toThrow(expect.objectContaining({ name: 'StateError', code: 'STATE_TOO_DEEP' }))
})

test('a cycle and a bigint are refused', () => {
  const cycle: unknown[] = []
  cycle.push(cycle)
  expect(() => digestOf(cycle)).toThrow(expect.objectContaining({ code: 'STATE_TOO_DEEP' }))
  expect(() => digestOf({ n: 1n })).toThrow(expect.objectContaining({ code: 'STATE_NOT_JSON' }))
})

test('a value that says how it is written has the digest of what it says, in whatever order', () => {
  const writes = (value: unknown) => ({ toJSON: () => value })
  expect(digestOf(writes({ b: 1, a: 2 }))).toBe(digestOf({ a: 2, b: 1 }))
  expect(digestOf({ at: [writes({ b: 1, a: 2 })] })).toBe(digestOf({ at: [{ a: 2, b: 1 }] }))
})
