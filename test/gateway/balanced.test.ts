/** Clients of both eras before servers of both eras, through two gateways behind a plain balancer. */
import { beforeAll, describe, expect, test } from 'vitest'
import { balancedGateways, expectProgressAndCancellation, serversOfBothEras, untilAllEnd } from './fixtures/bothEras.ts'
import { call, CLIENTS, connectClient, type modernServer } from './fixtures/gateways.ts'

const until = untilAllEnd()
let url = ''
let ours: Awaited<ReturnType<typeof modernServer>>

beforeAll(async () => {
  const behind = await serversOfBothEras(until)
  ours = behind.ours
  url = (await balancedGateways(behind.servers, until)).url
})

describe.each(CLIENTS)('the client %s', (kind) => {
  test.each(['ours', 'http', 'stdio'])('is asked by the server %s, twice in one call', async (server) => {
    const client = await connectClient(kind, url)
    for (let time = 0; time < 3; time++)
      expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
  })

  test.each(['http', 'stdio'])('tells the server %s its folders, and samples for it', async (server) => {
    const client = await connectClient(kind, url)
    expect(await call(client, `${server}_folders`)).toBe('file:///here')
    expect(await call(client, `${server}_think`)).toContain('Thought.')
  })

  test('gets progress, and ends the work behind when it cancels', async () => {
    const client = await connectClient(kind, url)
    await expectProgressAndCancellation(client, ours.states)
  })
})

test.each(CLIENTS)('several clients %s that are asked at once get their own questions', async (kind) => {
  for (const over of ['http', 'stdio', 'ours']) {
    const clients = await Promise.all([1, 2, 3].map(() => connectClient(kind, url)))
    const results = await Promise.all(clients.map((client) => call(client, `${over}_confirm`)))
    expect(results, over).toEqual(clients.map(() => 'accept true, accept true'))
  }
})
