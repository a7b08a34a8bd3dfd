import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createKeyring, createSealer } from '../index.ts'
import { inspectToken } from './seal.ts'

const [one, other] = [randomBytes(32), randomBytes(32)]
const nowMs = Date.UTC(2026, 6, 28)
const binding = { principal: 'ann', session: 's-1', method: 'tools/call', name: 'pay', argumentsDigest: 'digest' }

function sealed(key: Uint8Array, bound = {}): string {
  const sealer = createSealer({ keyring: createKeyring([key]), audience: 'shop', clock: () => nowMs })
  return sealer.seal('request', bound, { body: { answers: 1 }, id: 'call-1', round: 2, ttlSeconds: 60 })
}

test('whoever has the key reads all that a token says, whenever and for whatever it was sealed', () => {
  const keyring = createKeyring([one, other])
  expect(inspectToken(keyring, sealed(other, binding))).toEqual({
    purpose: 'request',
    keyId: createKeyring([other]).ids[0],
    audience: 'shop',
    binding,
    body: { answers: 1 },
    id: 'call-1',
    round: 2,
    issuedAt: nowMs / 1000,
    expiresAt: nowMs / 1000 + 60,
  })
  const { principal, session, method, name, argumentsDigest } = inspectToken(keyring, sealed(one)).binding
  expect([principal, session, method, name, argumentsDigest]).toEqual(Array.from({ length: 5 }, () => undefined))
})

test('a token of another key says which key that is, and which ones were given', () => {
  const [given = '', needed = ''] = [createKeyring([one]).ids[0], createKeyring([other]).ids[0]]
  const inspect = () => inspectToken(createKeyring([one]), sealed(other))
  expect(inspect).toThrow(expect.objectContaining({ code: 'STATE_UNKNOWN_KEY' }))
  expect(inspect).toThrow(given)
  expect(inspect).toThrow(needed)
})
