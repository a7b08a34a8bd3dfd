/**
 * Reads a token for whoever has the keys, to find an error: all its claims, also those of another request or time.
 * Servers never use this; `Sealer.open` checks every claim.
 */
import { StateError } from '../errors.ts'
import { type Binding, parseClaims, type Sealed } from './claims.ts'
import { type Keyring, keysOf } from './keyring.ts'
import { decrypt, makeTokenKey, type Purpose, readHeader, unpack } from './token.ts'

export interface Inspected extends Sealed {
  readonly purpose: Purpose
  /** The id of the key that sealed it. */
  readonly keyId: string
  readonly audience: string
  readonly binding: Binding
}

// More than any server seals with its default limits.
const MAX_BODY_BYTES = 64 * 1024 * 1024

export function inspectToken(keyring: Keyring, token: string): Inspected {
  const { purpose, keyTag } = readHeader(token)
  const key = keysOf(keyring).find(({ tag }) => tag === keyTag)
  if (key === undefined) throw new StateError('STATE_UNKNOWN_KEY', unknownKey(keyTag, keyring))
  const keys = new Map([[key.tag, makeTokenKey(key)]])
  const claims = parseClaims(unpack(decrypt(keys, purpose, token), MAX_BODY_BYTES))
  return { purpose, keyId: key.id, ...claims }
}

function unknownKey(tag: number, { ids }: Keyring): string {
  const sealedBy = tag.toString(16).padStart(8, '0')
  return `This was sealed with the key ${sealedBy}, and the keys given are ${ids.join(', ')}; give the keys of that server.`
}
