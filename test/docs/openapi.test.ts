/** The files of the guide about OpenAPI, served. */
import { createGateway, readGatewayConfig } from 'pannier/gateway'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { untilAllEnd } from '../gateway/fixtures/bothEras.ts'
import { call, connectClient } from '../gateway/fixtures/gateways.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'

const GATEWAY = 'examples/openapi/gateway.jsonc'
const SERVER = '../../examples/openapi/server.ts'

const until = untilAllEnd()
const seen: (string | undefined)[] = []

beforeAll(async () => {
  const { origin } = await hostUntil((req, res) => {
    seen.push(`${req.method} ${req.url}`, req.headers.authorization)
    if (req.method === 'DELETE') return void res.writeHead(204).end()
    res.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":7,"name":"Rex"}]')
  }, until)
  process.env['PETS_URL'] = `${origin}/v1`
  process.env['PETS_TOKEN'] = 'secret'
  process.env['PORT'] = '0'
})

test('the gateway of the guide serves the API', async () => {
  const gateway = createGateway({ ...(await readGatewayConfig(GATEWAY)), keys: KEYS, logger: quiet })
  const { url } = await gateway.listen({ drainOnTerm: false })
  onTestFinished(() => gateway.drain({ deadlineMs: 0 }))
  await gateway.tried()
  const client = await connectClient('v2', url)
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['pets_listPets'])
  expect(await call(client, 'pets_listPets', { tag: ['a', 'b'] })).toBe('[{"id":7,"name":"Rex"}]')
  expect(seen.splice(0)).toEqual(['GET /v1/pets?tag=a&tag=b', 'Bearer secret'])
})

test('the server of the guide has the tools of the API, and one that asks', async () => {
  const { address, server } = await import(SERVER)
  until(() => server.drain({ deadlineMs: 0 }))
  const client = await connectClient('v2', address)
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['listPets', 'delete_pet'])
  expect(await call(client, 'listPets')).toBe('[{"id":7,"name":"Rex"}]')
  expect(await call(client, 'delete_pet', { petId: 7 })).toBe('The API answered 204.')
  expect(seen.splice(0)).toEqual(['GET /v1/pets', 'Bearer secret', 'DELETE /v1/pets/7', 'Bearer secret'])
})
