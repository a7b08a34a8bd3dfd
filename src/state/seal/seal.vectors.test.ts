import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Binding, createKeyring, digestOf, type Purpose } from '../index.ts'
import { createSealerWith } from './seal.ts'

interface Vector {
  name: string
  keys: string[]
  audience: string
  purpose: Purpose
  binding: Binding
  content: { id: string; body: unknown; round?: number; ttlSeconds?: number }
  clockMs: number
  nonce: string
  token: string
}

const vectors: { keyIds: string[]; digests: { value: unknown; digest: string }[]; cases: Vector[] } = JSON.parse(
  readFileSync(new URL('./vectors.json', import.meta.url), 'utf8'),
)

function sealerOf({ keys, audience, clockMs, nonce }: Vector) {
  const keyring = createKeyring(keys.join(','))
  return createSealerWith({ keyring, audience, clock: () => clockMs }, () => Buffer.from(nonce, 'hex'))
}

/** Opens a token with nothing but the description of its form. */
function openByHand({ token, keys, purpose }: Vector): unknown[] {
  const bytes = Buffer.from(token, 'base64url')
  const key = keys
    .map((text) => Buffer.from(text, 'base64url'))
    .find((candidate) => createHash('sha256').update(candidate).digest().subarray(0, 4).equals(bytes.subarray(2, 6)))
  const decipher = createDecipheriv('aes-256-gcm', key!, bytes.subarray(6, 18))
  decipher.setAAD(Buffer.concat([bytes.subarray(0, 6), Buffer.from(purpose)])).setAuthTag(bytes.subarray(-16))
  const plain = Buffer.concat([decipher.update(bytes.subarray(18, -16)), decipher.final()])
  return JSON.parse(String(plain))
}

/** Seals a row with nothing but the description of the form. */
function sealByHand({ token, keys, purpose }: Vector, row: unknown): string {
  const header = Buffer.from(token, 'base64url').subarray(0, 18)
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(keys[0]!, 'base64url'), header.subarray(6))
  cipher.setAAD(Buffer.concat([header.subarray(0, 6), Buffer.from(purpose)]))
  const sealed = Buffer.concat([cipher.update(JSON.stringify(row)), cipher.final()])
  return Buffer.concat([header, sealed, cipher.getAuthTag()]).toString('base64url')
}

describe('a row that was sealed with the right key', () => {
  const vector = vectors.cases.find(({ keys }) => keys.length === 1)!
  const row = openByHand(vector)
  const open = (changed: unknown) => sealerOf(vector).open(vector.purpose, vector.binding, sealByHand(vector, changed))

  test('opens as it is', () => expect(open(row).id).toBe(vector.content.id))

  test.each<[string, unknown]>([
    ['too long', [...row, 'more']],
    ['too short', row.slice(0, -1)],
    ['without the time it was made', row.with(6, String(row[6]))],
    ['without the time it ends', row.with(7, String(row[7]))],
    ['without a round', row.with(8, null)],
    ['without an id', row.with(9, 7)],
    ['an object', { row }],
  ])('and is %s is refused', (_, changed) => {
    expect(() => open(changed)).toThrow(expect.objectContaining({ code: 'STATE_MALFORMED' }))
  })
})

describe.each(vectors.cases)('$name', (vector) => {
  const { purpose, binding, content, clockMs, token } = vector

  test('opens to its content', () => {
    const { id, body, round = 0, ttlSeconds = 3600 } = content
    const expiresAt = Math.ceil(clockMs / 1000 + ttlSeconds)
    const expected = { id, body, round, issuedAt: Math.floor(clockMs / 1000), expiresAt }
    expect(sealerOf(vector).open(purpose, binding, token)).toEqual(expected)
  })

  test('seals to the same token', () => {
    const sealed = sealerOf(vector).seal(purpose, binding, content)
    expect(sealed).toBe(token)
  })

  test('is what the description of the form says', () => {
    const { principal = null, session = null, method = null, name = null, argumentsDigest = null } = binding
    const row = openByHand(vector)
    expect(row.slice(0, 6)).toEqual([vector.audience, principal, session, method, name, argumentsDigest])
    expect(row.slice(8)).toEqual([content.round ?? 0, content.id, content.body])
  })
})

test('the vectors name a key by its id and arguments by their digest', () => {
  expect(createKeyring(vectors.cases[0]!.keys.join(',')).ids).toEqual(vectors.keyIds)
  for (const { value, digest } of vectors.digests) expect(digestOf(value)).toBe(digest)
})
