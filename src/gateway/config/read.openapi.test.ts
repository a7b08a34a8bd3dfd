import { expect, test } from 'vitest'
import { gatewayConfigOf } from './read.ts'

const url = 'http://a.example/v1'
const read = (a: object) => gatewayConfigOf({ servers: { a } }, { env: { TOKEN: 't' }, folder: '/folder' })

test('the entry of a document has its address, and a server that keeps nothing', async () => {
  const headers = { authorization: 'Bearer ${TOKEN}', 'x-user': '${principal.id}' }
  const { servers } = await read({ openapi: './a.yaml', url, headers, pannier: { timeoutSeconds: 5 } })
  expect(servers).toMatchObject([
    {
      address: { openapi: '/folder/a.yaml', url, headers: { authorization: 'Bearer t', 'x-user': '${principal.id}' } },
      settings: { state: 'stateless', timeoutSeconds: 5 },
    },
  ])
  const elsewhere = await read({ openapi: 'https://b.example/a.json', url })
  expect(elsewhere.servers).toMatchObject([{ address: { openapi: 'https://b.example/a.json', url } }])
})

test.each<[what: string, entry: object, sentence: string]>([
  ['an address of the API', { openapi: 'a.yaml' }, 'servers.a has "openapi", and needs a "url" beside it'],
  ['no command', { openapi: 'a.yaml', url, command: 'a' }, 'servers.a has "openapi", and needs a "url"'],
  ['no password in an address', { openapi: 'https://u:p@a.example/a', url }, 'servers.a.openapi holds a user name'],
  ['a text as its document', { openapi: {}, url }, 'servers.a.openapi must be a string.'],
  [
    'no header that the document decides',
    { openapi: 'a.yaml', url, headers: { Accept: 'a/b' } },
    'servers.a.headers.Accept is set by the gateway, as the document says',
  ],
  [
    'no replicas',
    { openapi: 'a.yaml', url, pannier: { urls: ['http://b.example'] } },
    'and is neither of the transport "sse" nor an OpenAPI document.',
  ],
])('the entry of a document needs %s', async (_, entry, sentence) => {
  await expect(read(entry)).rejects.toThrow(sentence)
})
