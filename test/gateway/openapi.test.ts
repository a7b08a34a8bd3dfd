/** OpenAPI documents behind a gateway: their operations are tools for clients of both eras. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gatewayConfigOf } from 'pannier/gateway'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { principal, untilAllEnd } from './fixtures/bothEras.ts'
import { call, CLIENTS, connectClient, startGateway } from './fixtures/gateways.ts'
import { PETS, petsApi } from './fixtures/petsApi.ts'
import { statelessRequest } from './fixtures/statelessRequest.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-openapi-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileWith(text: string, name = 'pets.yaml'): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const until = untilAllEnd()
const api = await petsApi(until)
const pets = { openapi: fileWith(PETS), url: api.url }
const { url } = await startGateway({ pets }, {}, {}, until)
beforeEach(() => void (api.seen.length = 0))

describe.each(CLIENTS)('a client %s', (kind) => {
  test('lists the operations as tools, and finds the API behind them', async () => {
    const client = await connectClient(kind, url)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['pets_listPets', 'pets_addPet', 'pets_getPet', 'pets_deletePet'])
    const result = await client.callTool({ name: 'pets_getPet', arguments: { petId: '7' } })
    expect(result.structuredContent).toEqual({ id: 7, name: 'Rex', tag: null })
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(result.structuredContent)
    expect(api.seen.map(({ method, url: path }) => `${method} ${path}`)).toEqual(['GET /v1/pets/7'])
  })

  test('sends arguments where the document says', async () => {
    const client = await connectClient(kind, url)
    const args = { tag: ['a b', 'c'], limit: 5, filter: { color: 'red' }, 'X-Trace': 't', flavour: 'mint' }
    expect(await call(client, 'pets_listPets', args)).toBe('[{"id":7,"name":"Rex","tag":null}]')
    await call(client, 'pets_addPet', { body: { name: 'Rex', tag: null } })
    const [listed, added] = api.seen
    expect(listed?.url).toBe('/v1/pets?tag=a%20b&tag=c&limit=5&filter%5Bcolor%5D=red')
    expect(listed?.headers).toMatchObject({ 'x-trace': 't', cookie: 'flavour=mint' })
    expect([added?.method, added?.body]).toEqual(['POST', '{"name":"Rex","tag":null}'])
    expect(added?.headers['content-type']).toBe('application/json')
  })

  test.each([
    ['a limit that is too large', 'pets_listPets', { limit: 101 }, /limit must be at most 100/],
    ['a missing argument', 'pets_getPet', {}, /petId is missing/],
    ['an argument that is none', 'pets_getPet', { petId: '7', host: 'evil.example' }, /host is not allowed/],
    ['a path that climbs', 'pets_getPet', { petId: '..' }, /must not be "\." or "\.\."/],
    ['an empty path', 'pets_deletePet', { petId: '' }, /must not be empty/],
    ['a header of two lines', 'pets_listPets', { 'X-Trace': 'a\r\nx-key: b' }, /cannot stand in a header/],
    ['a body of another form', 'pets_addPet', { body: { name: 7 } }, /body\.name must be of the type string/],
  ])('learns what is wrong with %s, and the API is not called', async (_, name, args, sentence) => {
    const client = await connectClient(kind, url)
    const { content, isError } = await client.callTool({ name, arguments: args })
    expect([isError, content[0]?.text]).toEqual([true, expect.stringMatching(sentence)])
    expect(api.seen).toEqual([])
  })

  test.each([
    ['an error of the API', 'none', /^The API answered HTTP 404.*\n\n.*There is no such pet/s],
    ['a refusal, with what the document asks for', 'secret', /HTTP 401.*asks for: the header X-Key\./],
    [
      'an answer that is not as documented',
      'wrong',
      /so the call was made.*id must be of the type integer.*\{"id":"seven",/s,
    ],
    ['an answer that is too large', 'large', /with more than \d+ bytes/],
  ])('reads %s', async (_, petId, sentence) => {
    const client = await connectClient(kind, url)
    const { content, isError } = await client.callTool({ name: 'pets_getPet', arguments: { petId } })
    expect([isError, content[0]?.text]).toEqual([true, expect.stringMatching(sentence)])
  })
})

test('a path argument stays in its segment', async () => {
  const client = await connectClient('v2', url)
  for (const petId of ['../admin', 'a/b', 'a?b=c', '%2e%2e', 'a#b', '..;'])
    await call(client, 'pets_deletePet', { petId })
  expect(api.seen.map((sent) => sent.url)).toEqual(
    ['..%2Fadmin', 'a%2Fb', 'a%3Fb%3Dc', '%252e%252e', 'a%23b', '..%3B'].map((segment) => `/v1/pets/${segment}`),
  )
})

test('a redirect is followed to the same host, and to no other', async () => {
  const others: (string | undefined)[] = []
  const other = await hostUntil((req, res) => void (others.push(req.url), res.end('{}')))
  api.served.elsewhere = `${other.origin}/stolen`
  const client = await connectClient('v2', url)
  expect(await call(client, 'pets_getPet', { petId: 'moved' })).toContain('"Rex"')
  expect(await call(client, 'pets_getPet', { petId: 'elsewhere' })).toMatch(/^The API answered HTTP 307/)
  expect(others).toEqual([])
})

test('gateways that look for loops do not ask the API', async () => {
  const headers = { 'pannier-via': 'another', authorization: 'Bearer theirs' }
  const response = await fetch(url, statelessRequest({ method: 'tools/list', params: {}, headers }))
  expect(await response.text()).toContain('pets_getPet')
  expect(api.seen).toEqual([])
})

describe('the API gets', () => {
  test('the credentials of the entry and of each caller, and nothing else of callers', async () => {
    const headers = { authorization: 'Bearer ours', 'x-user': '${principal.id}' }
    const gateway = await startGateway({ pets: { ...pets, headers } }, { principal })
    for (const id of ['ann', 'bob']) {
      const own = { 'x-user': id, authorization: `Bearer of ${id}`, 'x-secret': 's', cookie: 'c=1' }
      await call(await connectClient('v2', gateway.url, own), 'pets_getPet', { petId: '7' })
      await call(await connectClient('v1', gateway.url, own), 'pets_getPet', { petId: '7' })
    }
    const sent = api.seen.map((each) => [each.headers['x-user'], each.headers.authorization])
    expect(sent).toEqual(['ann', 'ann', 'bob', 'bob'].map((id) => [id, 'Bearer ours']))
    const names = new Set(api.seen.flatMap((each) => Object.keys(each.headers)))
    const usual = ['host', 'connection', 'accept', 'user-agent', 'accept-language', 'sec-fetch-mode', 'accept-encoding']
    expect([...names].filter((name) => !usual.includes(name)).toSorted()).toEqual(['authorization', 'x-user'])
  })

  test('the token of a caller where the entry says so', async () => {
    const gateway = await startGateway({ pets: { ...pets, pannier: { forwardAuthorization: true } } })
    const client = await connectClient('v2', gateway.url, { authorization: 'Bearer anns' })
    await call(client, 'pets_getPet', { petId: '7' })
    expect(api.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer anns'])
  })

  test('no more than the patterns of the entry allow', async () => {
    const gateway = await startGateway({ pets: { ...pets, pannier: { tools: { allow: ['list*', 'get*'] } } } })
    const { tools } = await (await connectClient('v2', gateway.url)).listTools()
    expect(tools.map(({ name }) => name)).toEqual(['pets_listPets', 'pets_getPet'])
  })

  test('a call until its time is over', async () => {
    const gateway = await startGateway({ pets: { ...pets, pannier: { timeoutSeconds: 0.2 } } })
    const client = await connectClient('v2', gateway.url)
    const late = client.callTool({ name: 'pets_getPet', arguments: { petId: 'silent' } })
    const answer = await late.then(
      ({ content }) => content[0]?.text,
      (error: unknown) => String(error),
    )
    expect(answer).toMatch(/has not answered within 0.2 seconds/)
  })
})

test('a changed document is served after a reload, and a broken one is not', async () => {
  const file = fileWith(PETS, 'changing.yaml')
  const servers = { pets: { openapi: file, url: api.url } }
  const { gateway, url: address } = await startGateway(servers)
  const client = await connectClient('v2', address)
  const reloaded = async (text: string): Promise<void> => {
    writeFileSync(file, text)
    await gateway.reload(await gatewayConfigOf({ mcpServers: servers }))
  }
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  await reloaded(PETS.replace('operationId: getPet', 'operationId: findPet'))
  await expect.poll(names).toContain('pets_findPet')
  await reloaded('openapi: [')
  expect(await call(client, 'pets_findPet', { petId: '7' })).toContain('"Rex"')
})

test('a document at an address is read without the credentials, and until it is there', async () => {
  const late = await petsApi(undefined, 'not yet')
  const headers = { authorization: 'Bearer ours' }
  const entry = { openapi: `${late.origin}/openapi.yaml`, url: late.url, headers }
  const { gateway, url: address } = await startGateway({ pets: entry })
  const [backend] = gateway.backends
  expect(backend?.connector.condition).toMatchObject({ kind: 'down', why: expect.stringContaining('cannot be served') })
  late.served.document = PETS
  await expect.poll(() => backend?.connector.condition.kind).toBe('up')
  expect(await call(await connectClient('v1', address), 'pets_getPet', { petId: '7' })).toContain('"Rex"')
})

test.each([
  [
    'of Swagger 2.0',
    '{"swagger":"2.0"}',
    /It is of Swagger 2\.0; OpenAPI 3\.0 and 3\.1 are supported\. Convert it first/,
  ],
  ['without a version', '{}', /It has no "openapi"/],
  ['that is none', 'a: [', /neither valid JSON nor valid YAML at line 1/],
  ['without operations', '{"openapi":"3.1.0","paths":{}}', /has no operations/],
  ['that is not there', undefined, /cannot be read: .*absent\.yaml \(ENOENT\)/],
])('a document %s ends in a sentence', async (_, text, sentence) => {
  const openapi = text === undefined ? join(folder, 'absent.yaml') : fileWith(text, 'odd.yaml')
  const { gateway } = await startGateway({ pets: { openapi, url: api.url } })
  expect(gateway.backends[0]?.connector.condition).toMatchObject({ why: expect.stringMatching(sentence) })
})
