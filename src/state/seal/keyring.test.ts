import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createKeyring, ephemeralKeyring, newKey, rotationSteps, StateError } from '../index.ts'

function failureOf(run: () => unknown): StateError {
  try {
    run()
  } catch (error) {
    if (error instanceof StateError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('a keyring', () => {
  test('names each key by the first four bytes of its SHA-256, in order', () => {
    const keys = [newKey(), newKey()]
    const ids = keys.map((key) => createHash('sha256').update(Buffer.from(key, 'base64url')).digest('hex').slice(0, 8))
    expect(createKeyring(keys.join(',')).ids).toEqual(ids)
  })

  test('reads keys separated by commas, white space or both', () => {
    const [a, b, c] = [newKey(), newKey(), newKey()]
    const expected = createKeyring(`${a},${b},${c}`).ids
    expect(createKeyring(`  ${a} ,\n\t${b}\r\n${c},`).ids).toEqual(expected)
  })

  test('takes raw keys too', () => {
    const key = newKey()
    expect(createKeyring([Buffer.from(key, 'base64url')]).ids).toEqual(createKeyring(key).ids)
  })

  test('is ephemeral only when the process made it for itself', () => {
    expect(createKeyring(newKey()).ephemeral).toBe(false)
    expect(ephemeralKeyring().ephemeral).toBe(true)
    expect(ephemeralKeyring().ids).not.toEqual(ephemeralKeyring().ids)
  })

  test('shows no key when it is printed or serialized', () => {
    const key = newKey()
    const keyring = createKeyring(key)
    const hex = Buffer.from(key, 'base64url').toString('hex')
    for (const text of [inspect(keyring, { depth: 9, showHidden: true }), JSON.stringify(keyring)]) {
      expect(text).not.toContain(key)
      expect(text).not.toContain(hex)
    }
  })
})

describe('a bad key value is refused with a sentence and without the key', () => {
  const good = newKey()
  const notCanonical = `${good.slice(0, -1)}B` // a key's last character carries only four bits
  test.each([
    ['nothing', '', 'KEYS_EMPTY'],
    ['only separators', ' ,, \n', 'KEYS_EMPTY'],
    ['a key that was cut', good.slice(0, 40), 'KEYS_LENGTH'],
    ['two keys run together', good + newKey(), 'KEYS_LENGTH'],
    ['padding', `${good}=`, 'KEYS_ENCODING'],
    ['the other base64 alphabet', `${good.slice(0, 41)}+/`, 'KEYS_ENCODING'],
    ['quotes', `"${good}"`, 'KEYS_ENCODING'],
    ['the line of a .env file', `PANNIER_KEYS=${good}`, 'KEYS_ENCODING'],
    ['a last character with stray bits', notCanonical, 'KEYS_ENCODING'],
    ['one key twice', `${good},${newKey()},${good}`, 'KEYS_DUPLICATE'],
    ['a good key and a bad one', `${newKey()},${good.slice(1)}`, 'KEYS_LENGTH'],
  ])('%s', (_, value, code) => {
    const error = failureOf(() => createKeyring(value))
    expect(error.code).toBe(code)
    expect(error.message).toMatch(/^[A-Z].*[.?]$/)
    expect(error.message).not.toContain(good.slice(1, 40))
  })

  test('raw keys of another length are refused', () => {
    expect(failureOf(() => createKeyring([new Uint8Array(16)])).code).toBe('KEYS_LENGTH')
    expect(failureOf(() => createKeyring([])).code).toBe('KEYS_EMPTY')
  })
})

describe('the steps of a rotation', () => {
  test('append one new key, put it first, then leave it alone', () => {
    const old = [newKey(), newKey()]
    const steps = rotationSteps(old.join(' '))
    const [fresh] = createKeyring(steps.retire).ids
    const oldIds = createKeyring(old.join(',')).ids
    expect(createKeyring(steps.spread).ids).toEqual([...oldIds, fresh])
    expect(createKeyring(steps.promote).ids).toEqual([fresh, ...oldIds])
    expect(createKeyring(steps.retire).ids).toEqual([fresh])
  })

  test('start only from a keyring that is sound', () => {
    expect(failureOf(() => rotationSteps('')).code).toBe('KEYS_EMPTY')
  })
})
