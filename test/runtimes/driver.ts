/** What the driver gives to all runtimes: keys, and an issuer of tokens with its key set. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import { newKey } from 'pannier/state'
import type { Given } from './programs/checked.ts'

export interface Driver {
  readonly given: Given
  readonly token: string
  close(): void
}

export async function startDriver(): Promise<Driver> {
  const [issuer, audience] = ['https://auth.example.com', 'https://mcp.example.com/mcp']
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'ES256' }
  const keySet = createServer((_, res) => res.end(JSON.stringify({ keys: [jwk] })))
  await once(keySet.listen(0, '127.0.0.1'), 'listening')
  const jwks = `http://127.0.0.1:${(keySet.address() as AddressInfo).port}/jwks`
  const token = new SignJWT({ sub: 'ann' }).setProtectedHeader({ alg: 'ES256' }).setIssuer(issuer).setAudience(audience)
  return {
    given: { keys: newKey(), issuer, audience, jwks, jwk },
    token: await token.setIssuedAt().setExpirationTime('1h').sign(privateKey),
    close: () => keySet.close(),
  }
}
