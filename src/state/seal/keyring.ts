/**
 * A keyring seals with its first key and opens with any of its keys, so that keys can be rotated without losing a call.
 *
 * Invariants:
 * - a key's id is the first four bytes of its SHA-256, so an id cannot be paired with the wrong key;
 * - keys are in a WeakMap, as KeyObjects where there are some: printing, logging or serializing a keyring shows ids only;
 * - an error message contains the position of a key, never the key.
 */
import type { KeyObject } from 'node:crypto'
import { findNodeModule, fromBase64url, randomBytes, sha256, toBase64 } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'

const KEY_BYTES = 32
const KEY_CHARS = 43

/** The keys of a server. It shows their ids, and never the keys. */
export interface Keyring {
  /** Key ids in hex, which are no secret. The first is the id of the key that seals. */
  readonly ids: readonly string[]
  /** Whether this process made the key itself; then other instances cannot open its seals. */
  readonly ephemeral: boolean
}

/** One key of a ring. `tag` is its id as a number, as it stands in a token. */
export interface RingKey {
  readonly id: string
  readonly tag: number
  /** Bytes where WebCrypto is all there is. */
  readonly secret: KeyObject | Uint8Array<ArrayBuffer>
}

const ringKeys = new WeakMap<Keyring, readonly RingKey[]>()

/** Makes a keyring from `PANNIER_KEYS` (base64url keys separated by commas or white space) or from raw keys. */
export function createKeyring(value: string | readonly Uint8Array[]): Keyring {
  return makeKeyring(typeof value === 'string' ? readKeys(value) : value, false)
}

/** The same for a setting, whose name is in the error. */
export function keyringIn(setting: string, value: string): Keyring {
  try {
    return createKeyring(value)
  } catch (cause) {
    if (!(cause instanceof StateError)) throw cause
    throw new StateError(cause.code, `${setting}: ${cause.message}`, { cause })
  }
}

/** Makes a keyring with a random key that only this process has. */
export function ephemeralKeyring(): Keyring {
  return makeKeyring([randomBytes(KEY_BYTES)], true)
}

/** Makes a new key in the form `createKeyring` reads. */
export function newKey(): string {
  return toBase64(randomBytes(KEY_BYTES), 'base64url')
}

/** The values of `PANNIER_KEYS` to deploy one after the other so that a new key replaces the old and no call is lost. */
export function rotationSteps(value: string): { spread: string; promote: string; retire: string } {
  createKeyring(value)
  const old = splitKeys(value)
  const fresh = newKey()
  return { spread: [...old, fresh].join(','), promote: [fresh, ...old].join(','), retire: fresh }
}

/** The keys of a ring, the sealing key first. Private to this folder. */
export function keysOf(keyring: Keyring): readonly [RingKey, ...RingKey[]] {
  const [first, ...rest] = ringKeys.get(keyring) ?? []
  if (!first) throw new StateError('STATE_OPTION', 'Make the keyring with createKeyring or ephemeralKeyring.')
  return [first, ...rest]
}

function makeKeyring(raw: readonly Uint8Array[], ephemeral: boolean): Keyring {
  if (raw.length === 0) {
    throw new StateError('KEYS_EMPTY', 'The keyring has no key; make one with `pannier keys new`.')
  }
  const keys = raw.map(makeRingKey)
  assertDistinct(keys)
  const keyring = Object.freeze({ ids: Object.freeze(keys.map((key) => key.id)), ephemeral })
  ringKeys.set(keyring, keys)
  return keyring
}

function makeRingKey(bytes: Uint8Array, index: number): RingKey {
  if (bytes.length !== KEY_BYTES) {
    throw new StateError('KEYS_LENGTH', `Key ${index + 1} has ${bytes.length} bytes; a key has exactly ${KEY_BYTES}.`)
  }
  const id = sha256(bytes, 'hex').slice(0, 8)
  const secret = findNodeModule('node:crypto')?.createSecretKey(bytes) ?? Uint8Array.from(bytes)
  return { id, tag: Number.parseInt(id, 16), secret }
}

function assertDistinct(keys: readonly RingKey[]): void {
  keys.forEach((key, index) => {
    const earlier = keys.findIndex((other) => other.tag === key.tag)
    if (earlier === index) return
    throw new StateError('KEYS_DUPLICATE', `Keys ${earlier + 1} and ${index + 1} are the same; remove one of them.`)
  })
}

function splitKeys(value: string): string[] {
  return value.split(/[\s,]+/).filter((part) => part !== '')
}

function readKeys(value: string): Uint8Array[] {
  return splitKeys(value).map((text, index) => readKey(text, index + 1))
}

function readKey(text: string, position: number): Uint8Array {
  if (/^\w+=[\w-]/.test(text)) {
    const sentence = `Key ${position} is a whole line of a .env file; set the variable to the part after the "=" only.`
    throw new StateError('KEYS_ENCODING', sentence)
  }
  if (!/^[\w-]+$/.test(text)) {
    const form = 'base64url uses A-Z, a-z, 0-9, - and _ only, without padding or quotes'
    throw new StateError(
      'KEYS_ENCODING',
      `Key ${position} is not base64url (${form}); make one with \`pannier keys new\`.`,
    )
  }
  if (text.length !== KEY_CHARS) {
    const wanted = `a ${KEY_BYTES}-byte key has ${KEY_CHARS} in base64url`
    throw new StateError(
      'KEYS_LENGTH',
      `Key ${position} has ${text.length} characters; ${wanted}. Was it cut when copied?`,
    )
  }
  const bytes = readBase64url(text)
  if (bytes) return bytes
  throw new StateError(
    'KEYS_ENCODING',
    `Key ${position} ends in a character that no key of this length can end in; copy it again from its source.`,
  )
}

/**
 * Reads base64url, and only in its canonical form. `fromBase64url` skips unknown characters, may accept the `+/`
 * alphabet and padding, and ignores unused last bits. Encoding the bytes again and comparing finds all of these.
 */
export function readBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  const bytes = fromBase64url(text)
  return toBase64(bytes, 'base64url') === text ? bytes : undefined
}
