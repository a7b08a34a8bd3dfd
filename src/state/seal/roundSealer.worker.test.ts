/** Tokens of WebCrypto and of Node are the same bytes. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createKeyring, createSealer, type Purpose, type SealContent, type SealOptions } from '../index.ts'
import { createWebSealer } from './roundSealer.worker.ts'
import { randomNonces } from './token.ts'

interface Vector {
  readonly name: string
  readonly keys: readonly string[]
  readonly audience: string
  readonly purpose: Purpose
  readonly binding: object
  readonly content: SealContent
  readonly clockMs: number
  readonly nonce: string
  readonly token: string
}

const { cases }: { cases: Vector[] } = JSON.parse(readFileSync(new URL('./vectors.json', import.meta.url), 'utf8'))
const KEY = 'nEKBtJvtWkrTfbzJnE3kSaqSaoHzX1L07lKlYPjoIlE'

const keyring = createKeyring(KEY)
const content = { id: 'call', round: 2, body: { steps: ['reserve'], note: 'Grüße' } }
const BINDING = { principal: 'ann', method: 'tools/call' }

function pair(more: Partial<SealOptions> = {}) {
  const options = { keyring, audience: 'shop', ...more }
  return { node: createSealer(options), web: createWebSealer(options, randomNonces()) }
}

const codeOf = (opening: () => unknown): Promise<unknown> =>
  Promise.resolve()
    .then(opening)
    .then(
      () => 'opened',
      (error: unknown) => (error as { code?: string }).code,
    )

test.each(cases)('$name', async ({ keys, audience, purpose, binding, clockMs, nonce, token, ...vector }) => {
  const options = { keyring: createKeyring(keys.join(',')), audience, clock: () => clockMs }
  const sealer = createWebSealer(options, () => new Uint8Array(Buffer.from(nonce, 'hex')))
  expect(await sealer.open(purpose, binding, token)).toMatchObject({ id: vector.content.id, body: vector.content.body })
  expect(await sealer.seal(purpose, binding, vector.content)).toBe(token)
})

describe.each([
  ['small', content],
  ['large', { ...content, body: { steps: Array.from({ length: 400 }, () => 'reserve a table') } }],
])('a %s state', (_, state) => {
  test('that Node sealed is opened by WebCrypto, and the other way round', async () => {
    const { node, web } = pair()
    expect((await web.open('request', BINDING, node.seal('request', BINDING, state))).body).toEqual(state.body)
    expect(node.open('request', BINDING, await web.seal('request', BINDING, state)).body).toEqual(state.body)
  })

  test('opens for nobody else, at no other time, and not when it was changed', async () => {
    let now = Date.now()
    const { web } = pair({ clock: () => now })
    const token = await web.seal('request', BINDING, state)
    const open = (binding: object, text = token) => codeOf(() => web.open('request', binding, text))
    expect(await open({ ...BINDING, principal: 'bob' })).toBe('STATE_PRINCIPAL')
    expect(await open(BINDING, `${token.slice(0, -2)}${token.endsWith('AA') ? 'BA' : 'AA'}`)).toBe('STATE_TAMPERED')
    expect(await open(BINDING, 'no token')).toBe('STATE_MALFORMED')
    expect(await codeOf(() => web.open('ticket', BINDING, token))).toBe('STATE_PURPOSE')
    now += 3_601_000
    expect(await open(BINDING)).toBe('STATE_EXPIRED')
  })
})

test('too much is refused where it is sealed and where it is opened', async () => {
  const body = 'a'.repeat(600)
  const { web: short } = pair({ maxBytes: 500 })
  expect(await codeOf(() => short.seal('request', {}, { id: 'call', body }))).toBe('STATE_TOO_LARGE')
  const token = pair().node.seal('request', {}, { id: 'call', body })
  expect(await codeOf(() => short.open('request', {}, token))).toBe('STATE_TOO_LARGE')
})
