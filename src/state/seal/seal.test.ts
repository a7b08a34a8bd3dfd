import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import {
  type Binding,
  createKeyring,
  createSealer,
  digestOf,
  ephemeralKeyring,
  newKey,
  type Purpose,
  rotationSteps,
  type SealOptions,
  StateError,
} from '../index.ts'

const keyring = ephemeralKeyring()
const nowMs = Date.UTC(2026, 6, 28)
const binding: Binding = {
  principal: 'ann',
  method: 'tools/call',
  name: 'deploy',
  argumentsDigest: digestOf({ to: 'production' }),
  session: 's-1',
}
// After a member named `\\` was parsed, V8 may misread other escaped names (nodejs/node#63785), whoever parses.
const BACKSLASH_IN_KEY = /"(?:[^"\\]|\\.)*\\\\(?:[^"\\]|\\.)*":/
const content = { body: { answers: { confirm: true } }, id: 'call-1', round: 2 }

function sealerAt(ms: number, options: Partial<SealOptions> = {}) {
  return createSealer({ keyring, audience: 'work-items', clock: () => ms, ...options })
}

function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof StateError) return error.code
    throw error
  }
  return 'accepted'
}

describe('sealing and opening', () => {
  proves('MRTR-19 ST-9', 'a seal gives back body, id, round and times, and shows none of them', () => {
    const token = sealerAt(nowMs).seal('request', binding, content)
    const bytes = Buffer.from(token, 'base64url').toString('latin1')
    for (const secret of ['answers', 'confirm', 'ann', 'deploy', 'call-1']) expect(bytes).not.toContain(secret)
    const issuedAt = nowMs / 1000
    expect(sealerAt(nowMs).open('request', binding, token)).toEqual({
      ...content,
      issuedAt,
      expiresAt: issuedAt + 3600,
    })
  })

  test('two seals of one body have nothing in common but their header', () => {
    const sealer = sealerAt(nowMs)
    const tokens = Array.from({ length: 1000 }, () => sealer.seal('request', binding, content))
    const nonces = tokens.map((token) => token.slice(8, 24))
    expect(new Set(nonces).size).toBe(tokens.length)
  })

  test('opening gives back exactly the JSON that was sealed', () => {
    const sealer = sealerAt(nowMs)
    const json = fc.oneof(
      fc.jsonValue({ noUnicodeString: false, maxDepth: 4 }),
      fc.string({ unit: 'binary' }),
      fc.array(fc.string({ unit: fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => String.fromCharCode(code)) })),
      fc.dictionary(fc.constantFrom('__proto__', 'constructor', 'toString', '', '\ud800', '0', 'a'), fc.jsonValue()),
    )
    fc.assert(
      fc.property(json, fc.string({ unit: 'binary' }), (value, id) => {
        const text = JSON.stringify(value)
        fc.pre(!BACKSLASH_IN_KEY.test(text))
        const body: unknown = JSON.parse(text)
        const opened = sealer.open('request', binding, sealer.seal('request', binding, { body, id }))
        expect(JSON.stringify(opened.body)).toBe(text)
        expect(opened.body).toEqual(body)
        expect(opened.id).toBe(id)
      }),
      { numRuns: 1000 },
    )
  })

  test('a member named __proto__ comes back as a member and changes no prototype', () => {
    const body: unknown = JSON.parse('{"__proto__":{"admin":true}}')
    const sealer = sealerAt(nowMs)
    const opened = sealer.open('request', {}, sealer.seal('request', {}, { body, id: 'x' })).body as object
    expect(Object.keys(opened)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(opened)).toBe(Object.prototype)
    expect('admin' in {}).toBe(false)
  })

  const cycle: Record<string, unknown> = {}
  cycle.secretName = cycle
  test.each([
    ['undefined', 'STATE_NOT_JSON', () => undefined],
    ['a function', 'STATE_NOT_JSON', () => () => 1],
    ['a bigint', 'STATE_NOT_JSON', () => ({ n: 1n })],
    ['a cycle', 'STATE_NOT_JSON', () => cycle],
    ['a hundred thousand nested arrays', 'STATE_TOO_DEEP', () => nested(100_000)],
  ])('a body that is %s is refused with %s', (_, code, makeBody) => {
    const body: unknown = makeBody()
    expect(codeOf(() => sealerAt(nowMs).seal('request', {}, { body, id: 'x' }))).toBe(code)
  })
})

describe('every claim is checked, each with its own code', () => {
  const otherValue: Record<keyof Binding, [code: string, value: string]> = {
    principal: ['STATE_PRINCIPAL', 'bob'],
    method: ['STATE_METHOD', 'prompts/get'],
    name: ['STATE_NAME', 'destroy'],
    argumentsDigest: ['STATE_ARGUMENTS', digestOf({ to: 'staging' })],
    session: ['STATE_SESSION', 's-2'],
  }
  const cases = Object.entries(otherValue).map(([claim, [code, value]]) => ({ claim, code, value }))
  const sealer = sealerAt(nowMs)

  test.each(cases)('another $claim is refused with $code', ({ claim, code, value }) => {
    const token = sealer.seal('request', binding, content)
    expect(codeOf(() => sealer.open('request', { ...binding, [claim]: value }, token))).toBe(code)
  })

  test.each(cases)('an absent $claim never matches a value, not even an empty one', ({ claim, code }) => {
    for (const value of ['', 'null', 'undefined']) {
      const [present, absent] = [
        { ...binding, [claim]: value },
        { ...binding, [claim]: undefined },
      ]
      const [withValue, without] = [sealer.seal('request', present, content), sealer.seal('request', absent, content)]
      expect(codeOf(() => sealer.open('request', absent, withValue))).toBe(code)
      expect(codeOf(() => sealer.open('request', present, without))).toBe(code)
      expect(codeOf(() => sealer.open('request', absent, without))).toBe('accepted')
    }
  })

  proves('MRTR-18 ST-8', 'a state for one request does not open for another request of the same user', () => {
    const token = sealer.seal('request', binding, content)
    expect(codeOf(() => sealer.open('request', { ...binding, name: 'destroy' }, token))).toBe('STATE_NAME')
    expect(codeOf(() => sealer.open('request', { ...binding, method: 'resources/read' }, token))).toBe('STATE_METHOD')
    const otherArguments = digestOf({ to: 'moon' })
    const changed = { ...binding, argumentsDigest: otherArguments }
    expect(codeOf(() => sealer.open('request', changed, token))).toBe('STATE_ARGUMENTS')
  })

  proves('MRTR-20 MRTR-21', 'a state sealed for Ann is refused when Bob or nobody presents it', () => {
    const token = sealer.seal('request', binding, content)
    expect(codeOf(() => sealer.open('request', { ...binding, principal: 'bob' }, token))).toBe('STATE_PRINCIPAL')
    expect(codeOf(() => sealer.open('request', { ...binding, principal: undefined }, token))).toBe('STATE_PRINCIPAL')
    expect(codeOf(() => sealer.open('request', binding, token))).toBe('accepted')
  })

  test('another audience is refused', () => {
    const token = sealerAt(nowMs, { audience: 'payroll' }).seal('request', binding, content)
    expect(codeOf(() => sealer.open('request', binding, token))).toBe('STATE_AUDIENCE')
  })

  test('a seal for one purpose never opens for another', () => {
    const purposes: Purpose[] = ['request', 'push', 'session', 'stream', 'ticket']
    for (const sealed of purposes) {
      const token = sealer.seal(sealed, binding, content)
      for (const opened of purposes) {
        const expected = opened === sealed ? 'accepted' : 'STATE_PURPOSE'
        expect(codeOf(() => sealer.open(opened, binding, token))).toBe(expected)
      }
    }
  })

  test('a purpose changed in the header fails verification', () => {
    const bytes = Buffer.from(sealer.seal('request', binding, content), 'base64url')
    bytes[1] = 2
    expect(codeOf(() => sealer.open('push', binding, bytes.toString('base64url')))).toBe('STATE_TAMPERED')
  })

  test('a key of another ring is unknown', () => {
    const token = sealerAt(nowMs, { keyring: ephemeralKeyring() }).seal('request', binding, content)
    expect(codeOf(() => sealer.open('request', binding, token))).toBe('STATE_UNKNOWN_KEY')
  })
})

describe('time', () => {
  const token = sealerAt(nowMs).seal('request', binding, { ...content, ttlSeconds: 60 })
  const openAt = (ms: number) => codeOf(() => sealerAt(ms).open('request', binding, token))

  proves('ST-11', 'a seal opens until the second it expires and never after', () => {
    expect(openAt(nowMs + 59_999)).toBe('accepted')
    expect(openAt(nowMs + 60_000)).toBe('STATE_EXPIRED')
    expect(openAt(nowMs + 1e12)).toBe('STATE_EXPIRED')
  })

  test('a seal from a clock up to 30 s ahead opens, one from further ahead does not', () => {
    expect(openAt(nowMs - 30_000)).toBe('accepted')
    expect(openAt(nowMs - 30_001)).toBe('STATE_NOT_YET_VALID')
  })

  test('a clock that gives no number opens nothing', () => {
    expect(openAt(Number.NaN)).toBe('STATE_NOT_YET_VALID')
  })
})

describe('key rotation', () => {
  const old = newKey()
  const steps = rotationSteps(old)
  const sealerWith = (value: string) => sealerAt(nowMs, { keyring: createKeyring(value) })
  const order = [old, steps.spread, steps.promote, steps.retire]

  test('a state sealed in one step opens in the step before and in the step after', () => {
    for (let step = 1; step < order.length; step++) {
      const [before, after] = [sealerWith(order[step - 1]!), sealerWith(order[step]!)]
      expect(after.open('request', {}, before.seal('request', {}, content)).body).toEqual(content.body)
      expect(before.open('request', {}, after.seal('request', {}, content)).body).toEqual(content.body)
    }
  })

  test('a state of the old key survives spread and promote and dies when the key retires', () => {
    const token = sealerWith(old).seal('request', {}, content)
    const outcomes = order.map((value) => codeOf(() => sealerWith(value).open('request', {}, token)))
    expect(outcomes).toEqual(['accepted', 'accepted', 'accepted', 'STATE_UNKNOWN_KEY'])
  })
})

describe('size', () => {
  const text = (bytes: number) => randomBytes(bytes).toString('hex').slice(0, bytes)

  test('a body too large to seal is refused with the sizes and what to do', () => {
    const seal = () => sealerAt(nowMs).seal('request', {}, { body: text(200_000), id: 'x' })
    expect(codeOf(seal)).toBe('STATE_TOO_LARGE')
    expect(seal).toThrow(/bytes, the limit is 65536: .* raise maxBytes/)
  })

  test('a token of exactly the limit is sealed and opened, and one byte less is too little', () => {
    const content = { body: text(50), id: 'x' }
    const { length } = sealerAt(nowMs).seal('request', {}, content)
    const exact = sealerAt(nowMs, { maxBytes: length })
    expect(exact.open('request', {}, exact.seal('request', {}, content)).body).toEqual(content.body)
    const [token, less] = [exact.seal('request', {}, content), sealerAt(nowMs, { maxBytes: length - 1 })]
    expect(codeOf(() => less.seal('request', {}, content))).toBe('STATE_TOO_LARGE')
    expect(codeOf(() => less.open('request', {}, token))).toBe('STATE_TOO_LARGE')
  })

  test('an over-long token is refused before it is decoded', () => {
    expect(codeOf(() => sealerAt(nowMs).open('request', {}, 'A'.repeat(65_537)))).toBe('STATE_TOO_LARGE')
    expect(codeOf(() => sealerAt(nowMs).open('request', {}, '!'.repeat(100_000_000)))).toBe('STATE_TOO_LARGE')
  })
})

describe('options', () => {
  test.each<[string, Partial<SealOptions>]>([
    ['an empty audience', { audience: '' }],
    ['no time to live', { ttlSeconds: 0 }],
    ['an endless time to live', { ttlSeconds: Number.POSITIVE_INFINITY }],
    ['a limit that is not a number', { maxBytes: Number.NaN }],
    ['no room', { maxBytes: 0 }],
    ['a keyring that is only shaped like one', { keyring: { ids: ['00000000'], ephemeral: false } }],
  ])('%s is refused when the sealer is made', (_, options) => {
    expect(codeOf(() => sealerAt(nowMs, options))).toBe('STATE_OPTION')
  })

  test.each([{ round: -1 }, { round: 1.5 }, { ttlSeconds: Number.NaN }, { ttlSeconds: -5 }])(
    'content with %o is refused when it is sealed',
    (wrong) => {
      expect(codeOf(() => sealerAt(nowMs).seal('request', {}, { ...content, ...wrong }))).toBe('STATE_OPTION')
    },
  )

  test('a state that is no string is malformed, never a fresh start', () => {
    for (const token of [undefined, null, 5, {}, ['a'], '']) {
      expect(codeOf(() => sealerAt(nowMs).open('request', {}, token as string))).toBe('STATE_MALFORMED')
    }
  })
})

function nested(depth: number): unknown {
  let value: unknown = []
  for (let level = 1; level < depth; level++) value = [value]
  return value
}
