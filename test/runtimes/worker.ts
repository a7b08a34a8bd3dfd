/** The Worker that workerd.test.ts serves: that of the example, and beside it servers for what the example leaves out. */
import { createPublicKey, createSecretKey } from 'node:crypto'
import { type BearerOptions, bearer, createServer, type FetchHandler, type LimitOptions } from 'pannier/server'
import * as state from 'pannier/state'
import { z } from 'zod'
import worker from '../../examples/mount/worker.ts'

/** What the test gives the Worker, as bindings. */
interface Given {
  readonly issuer: string
  readonly audience: string
  readonly jwks: string
  readonly pem: string
  readonly jwk: JsonWebKey
  readonly secret: string
}

const { issuer, audience, jwks, pem, jwk, secret } = JSON.parse(process.env['GIVEN'] ?? '') as Given
const bytes = Buffer.from(secret, 'base64url')

const keys: Record<string, Partial<BearerOptions>> = {
  '/fetched-set': { jwks },
  '/given-set': { jwks: { keys: [{ ...jwk, kty: String(jwk.kty) }] } },
  '/pem': { key: pem },
  '/jwk': { key: { ...jwk, kty: String(jwk.kty) } },
  '/key-object': { key: createPublicKey(pem) },
  '/secret': { key: bytes, algorithms: ['HS256'] },
  '/secret-key-object': { key: createSecretKey(bytes), algorithms: ['HS256'] },
}

const paths: Record<string, FetchHandler> = {
  '/parcels': parcels(),
  '/limited': limitedServer(),
  '/state': () => Promise.resolve(Response.json(Object.keys(state))),
}
for (const [path, key] of Object.entries(keys)) paths[path] = protectedServer(key)

function parcels(): FetchHandler {
  const server = createServer({ name: 'parcels', version: '1.0.0' })
  const choice = z.object({ choice: z.string() })
  const input = { type: 'object', properties: { kilos: { type: 'integer', maximum: 30 } }, required: ['kilos'] }
  server.tool('pack', { description: 'Packs a parcel.', input }, async ({ kilos }, ctx) => {
    const price = await ctx.step('price', () => Promise.resolve(Number(kilos) * 2))
    const [paper, ribbon] = await Promise.all([
      ctx.ask('paper', { message: 'Which paper?', schema: choice }),
      ctx.ask('ribbon', { message: 'Which ribbon?', schema: choice }),
    ])
    return `${paper.choice}, ${ribbon.choice}: ${price}`
  })
  server.tool('label', { description: 'Writes a label.' }, async (_, ctx) => {
    // Made while the request is served, when a Worker may not generate code.
    const schema = { type: 'object', properties: { zip: { type: 'string', maxLength: 5 } }, required: ['zip'] }
    const { zip } = await ctx.ask('zip', { message: 'Which postal code?', schema })
    return `To ${String(zip)}`
  })
  return server.fetch
}

function limitedServer(): FetchHandler {
  const clientAddress: LimitOptions['clientAddress'] = ({ header }) => header('cf-connecting-ip')
  const limits = { requestsPerMinute: 2, callsAtOnce: 1, clientAddress }
  const server = createServer({ name: 'limited', version: '1.0.0', limits })
  server.use(async (call, next) => ({ ...(await next()), _meta: { round: call.round } }))
  return server.tool('echo', { description: 'Echoes.' }, () => 'echo').fetch
}

function protectedServer(key: Partial<BearerOptions>): FetchHandler {
  const server = createServer({
    name: 'protected',
    version: '1.0.0',
    principal: bearer({ issuer, audience, ...key }),
  })
  server.tool('whoami', { description: 'Tells who calls.' }, (_, ctx) => String(ctx.principal?.claims?.['sub']))
  return server.fetch
}

export default {
  fetch: (request: Request): Promise<Response> => (paths[new URL(request.url).pathname] ?? worker.fetch)(request),
}
