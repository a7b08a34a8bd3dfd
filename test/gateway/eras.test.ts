/** Clients of both eras before servers of both eras, through one gateway. */
import { beforeAll, describe, expect, test } from 'vitest'
import { expectProgressAndCancellation, serversOfBothEras, untilAllEnd } from './fixtures/bothEras.ts'
import { call, CLIENTS, connectClient, type modernServer, startGateway } from './fixtures/gateways.ts'

const until = untilAllEnd()
let url = ''
let ours: Awaited<ReturnType<typeof modernServer>>

beforeAll(async () => {
  const behind = await serversOfBothEras(until)
  ours = behind.ours
  url = (await startGateway(behind.servers, {}, {}, until)).url
})

describe.each(CLIENTS)('the client %s', (kind) => {
  test('lists and calls tools of all servers, under their names at /mcp and their own at /mcp/NAME', async () => {
    const client = await connectClient(kind, url)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names.slice(0, 3)).toEqual(['ours_add', 'ours_confirm', 'ours_wait'])
    expect(names).toContain('http_add')
    expect(names).toContain('stdio_add')
    for (const server of ['ours', 'http', 'stdio']) {
      expect(await call(client, `${server}_add`, { a: 1, b: 2 })).toBe('3')
      const alone = await connectClient(kind, `${url}/${server}`)
      expect((await alone.listTools()).tools.map(({ name }) => name)).toContain('add')
      expect(await call(alone, 'add', { a: 2, b: 2 })).toBe('4')
    }
  })

  test('gets progress, and ends the work behind when it cancels', async () => {
    const client = await connectClient(kind, url)
    await expectProgressAndCancellation(client, ours.states)
  })

  test('is asked by a server of the stateless era', async () => {
    const client = await connectClient(kind, url)
    expect(await call(client, 'ours_confirm')).toBe('accept true, accept true')
  })

  test.each(['http', 'stdio'])('is asked by a server of the session era over %s', async (over) => {
    const client = await connectClient(kind, url)
    expect(await call(client, `${over}_confirm`)).toBe('accept true, accept true')
    expect(await call(client, `${over}_folders`)).toBe('file:///here')
    expect(await call(client, `${over}_think`)).toContain('Thought.')
  })
})

test.each(CLIENTS)(
  'several clients %s that are asked at once get their own questions, and their own results',
  async (kind) => {
    for (const over of ['http', 'stdio', 'ours']) {
      const clients = await Promise.all([1, 2, 3].map(() => connectClient(kind, url)))
      const results = await Promise.all(clients.map((client) => call(client, `${over}_confirm`)))
      expect(results, over).toEqual(clients.map(() => 'accept true, accept true'))
    }
  },
)
