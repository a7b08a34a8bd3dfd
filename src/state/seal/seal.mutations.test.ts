import fc from 'fast-check'
import { expect } from 'vitest'
import { amount } from '../../../test/amount.ts'
import { proves } from '../../../test/proves.ts'
import { type Binding, createKeyring, createSealer, newKey, type Purpose, STATE_CODES, StateError } from '../index.ts'

/** How many mutated tokens must be met. Some mutations change nothing, so that more are tried. */
const MUTATED = amount(10_000, 100_000)
const TRIES = 1.2 * MUTATED
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const STRANGE = ['=', '+', '/', ' ', '\n', '\0', '.', '%', 'é', '\u{1f6b2}', '\ud800', '\ufeff']

const keys = [newKey(), newKey()]
const sealer = createSealer({ keyring: createKeyring(keys.join(',')), audience: 'work-items' })
const secret = 'the-answer-nobody-may-see'
const ann: Binding = { principal: 'ann', method: 'tools/call', name: 'deploy', argumentsDigest: 'a'.repeat(22) }
const bob: Binding = { ...ann, principal: 'bob' }

interface Original {
  purpose: Purpose
  binding: Binding
  token: string
}

const originals: Original[] = [
  original('request', ann, { secret }),
  original('request', bob, { secret }),
  original('push', { ...ann, session: 's-1' }, { secret, list: [1, 2, 3] }),
  original('ticket', {}, secret),
  original('session', ann, Array(100).fill(secret)),
]

function original(purpose: Purpose, binding: Binding, body: unknown): Original {
  return { purpose, binding, token: sealer.seal(purpose, binding, { body, id: 'call-1' }) }
}

/** How a valid token is turned into another one. The numbers are any naturals: each takes what it needs of them. */
type Mutation = (from: Original, other: Original, a: number, b: number) => Original

const onText =
  (change: (token: string, a: number, b: number) => string): Mutation =>
  (from, _, a, b) => ({ ...from, token: change(from.token, a, b) })

const onBytes =
  (change: (bytes: Buffer, other: Buffer, a: number, b: number) => Buffer): Mutation =>
  (from, other, a, b) => {
    const bytes = change(Buffer.from(from.token, 'base64url'), Buffer.from(other.token, 'base64url'), a, b)
    return { ...from, token: bytes.toString('base64url') }
  }

const mutations: Mutation[] = [
  onBytes((bytes, _, a) => {
    const bit = a % (bytes.length * 8)
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    return bytes
  }),
  // The header's few bytes decide most, so they are hit more often.
  onBytes((bytes, _, a, b) => {
    bytes[a % 6] = b
    return bytes
  }),
  onBytes((bytes, _, a) => bytes.subarray(0, a % bytes.length)),
  onBytes((bytes, _, a) => bytes.subarray((a % (bytes.length - 1)) + 1)),
  onBytes((bytes, _, a, b) => {
    const at = a % (bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, at), Buffer.from([b & 255]), bytes.subarray(at)])
  }),
  // Two valid tokens joined at one place, or exchanging header, nonce, ciphertext or tag.
  onBytes((bytes, other, a) => Buffer.concat([bytes.subarray(0, a % bytes.length), other.subarray(a % bytes.length)])),
  onBytes((bytes, other, a) => {
    const [start, end] = [
      [0, 6],
      [6, 18],
      [18, -16],
      [-16, undefined],
    ][a % 4]! as [number, number | undefined]
    const tail = end === undefined ? Buffer.alloc(0) : bytes.subarray(end)
    return Buffer.concat([bytes.subarray(0, start), other.subarray(start, end), tail])
  }),
  onText((token, a, b) => replaceAt(token, a, ALPHABET[b % 64]!)),
  onText((token, a, b) => replaceAt(token, a, STRANGE[b % STRANGE.length]!)),
  // Other spellings of the same bytes: padding, the other alphabet, stray last bits, white space, characters skipped.
  onText((token, a) => token + '='.repeat((a % 3) + 1)),
  onText((token) => token.replaceAll('-', '+').replaceAll('_', '/')),
  onText((token, a) => token.slice(0, -1) + ALPHABET[(ALPHABET.indexOf(token.at(-1)!) ^ ((a % 15) + 1)) & 63]!),
  onText((token, a, b) => insertAt(token, a, STRANGE[b % STRANGE.length]!)),
  onText((token, a, b) => insertAt(token, a, ALPHABET[b % 64]!)),
  // The token as it is, presented as another: every pair of purpose and binding but its own.
  (from, other) => ({ ...other, token: from.token }),
  (from, other) => ({ ...from, purpose: other.purpose }),
  (from, other) => ({ ...from, binding: other.binding }),
  (from, _, a) => ({ ...from, binding: { ...from.binding, [['principal', 'method', 'name'][a % 3]!]: 'x' } }),
]

function replaceAt(text: string, a: number, character: string): string {
  const at = a % text.length
  return text.slice(0, at) + character + text.slice(at + 1)
}

function insertAt(text: string, a: number, character: string): string {
  const at = a % (text.length + 1)
  return text.slice(0, at) + character + text.slice(at)
}

function isOriginal(mutant: Original): boolean {
  return originals.some(
    ({ purpose, binding, token }) =>
      token === mutant.token &&
      purpose === mutant.purpose &&
      (binding === mutant.binding || JSON.stringify(binding) === JSON.stringify(mutant.binding)),
  )
}

/** What is wrong with how a mutant was met, or undefined when it was refused as it should be. */
function complaint({ purpose, binding, token }: Original): string | undefined {
  try {
    sealer.open(purpose, binding, token)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof StateError)) return `not a StateError: ${String(error)}`
    if (!STATE_CODES.includes(error.code)) return `unknown code ${error.code}`
    if (error.cause !== undefined) return 'carries a cause'
    const tells = [token, secret, ...keys].some((text) => text.length > 4 && error.message.includes(text))
    return tells ? 'tells a secret' : undefined
  }
}

proves(
  'ST-8 ST-9 MRTR-18 MRTR-19',
  'of very many mutated tokens none is accepted, and every refusal is a StateError that tells nothing',
  () => {
    for (const { purpose, binding, token } of originals) sealer.open(purpose, binding, token)
    const number = fc.nat(0xffff)
    const index = fc.nat(originals.length - 1)
    let met = 0
    fc.assert(
      fc.property(fc.nat(mutations.length - 1), index, index, number, number, (kind, from, other, a, b) => {
        const mutant = mutations[kind]!(originals[from]!, originals[other]!, a, b)
        if (isOriginal(mutant)) return
        met += 1
        const problem = complaint(mutant)
        if (problem !== undefined) throw new Error(`mutation ${kind}: ${problem}`)
      }),
      { numRuns: TRIES },
    )
    expect(met).toBeGreaterThan(MUTATED)
  },
  60_000,
)
