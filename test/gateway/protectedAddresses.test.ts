/** The protected-resource metadata of each address of a gateway, as the official client reads it (RFC 9728, RFC 8707). */
import { discoverOAuthProtectedResourceMetadata, selectResourceURL } from '@modelcontextprotocol/sdk/client/auth.js'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { freePort } from '../fixtures/httpHost.ts'
import { call, connectClient, modernServer, startGateway } from './fixtures/gateways.ts'

const ISSUER = 'https://login.example.com'
const { publicKey, privateKey } = await generateKeyPair('ES256')

function tokenFor(audience: string): Promise<string> {
  const token = new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).setIssuer(ISSUER).setAudience(audience)
  return token.setSubject('ann').setExpirationTime('5m').sign(privateKey)
}

/** A gateway with a view, whose callers bring tokens for its own address. */
async function protectedGateway(): Promise<string> {
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const { bearer } = await import('pannier/server')
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] }
  const principal = bearer({ issuer: ISSUER, audience: `${base}/mcp`, jwks })
  const settings = { gateway: { views: { calc: { tools: ['ours_add'] } } } }
  await startGateway({ ours: { url: (await modernServer()).url } }, { principal }, settings, undefined, port)
  return base
}

/** The metadata that a client finds after a 401, and the resource it will ask a token for. */
async function discover(address: string): Promise<{ resource: string; asked: string | undefined }> {
  const { status, headers } = await fetch(address, { method: 'POST', body: '{}' })
  expect(status).toBe(401)
  const told = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '')?.[1] ?? ''
  const metadata = await discoverOAuthProtectedResourceMetadata(address, { resourceMetadataUrl: told })
  // Without what the challenge told, by the address alone.
  expect(await discoverOAuthProtectedResourceMetadata(address)).toEqual(metadata)
  const asked = await selectResourceURL(address, {} as never, metadata)
  return { resource: metadata.resource, asked: asked?.href }
}

test('each address has metadata of its own, and takes tokens for itself or for the whole gateway', async () => {
  const base = await protectedGateway()
  const paths = ['/mcp', '/mcp/ours', '/views/calc']
  for (const path of paths) {
    const address = base + path
    expect(await discover(address)).toEqual({ resource: address, asked: address })
    const tool = path === '/mcp/ours' ? 'add' : 'ours_add'
    for (const audience of [address, `${base}/mcp`]) {
      const client = await connectClient('v1', address, { authorization: `Bearer ${await tokenFor(audience)}` })
      expect(await call(client, tool, { a: 1, b: 2 })).toBe('3')
    }
    for (const other of paths.filter((each) => each !== path && each !== '/mcp')) {
      const headers = { authorization: `Bearer ${await tokenFor(base + other)}` }
      await expect(connectClient('v1', address, headers)).rejects.toThrow()
    }
  }
})
