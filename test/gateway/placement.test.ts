/** Two gateways behind a plain balancer, before servers that keep something for each caller. */
import type { ServerOptions } from 'pannier/server'
import { beforeAll, expect, test } from 'vitest'
import { startBalancer } from '../survival/balancer.ts'
import { call, CLIENTS, connectClient, sessionServer, startGateway, stdioEntry } from './fixtures/gateways.ts'

const principal: ServerOptions['principal'] = async ({ header }) => {
  const id = header('x-user')
  return id === undefined ? undefined : { id }
}
let url = ''

beforeAll(async () => {
  const ends: (() => unknown)[] = []
  const until = (end: () => unknown): void => void ends.unshift(end)
  const http = { url: (await sessionServer(until)).url, pannier: { state: 'stateful' } }
  const balancer = await startBalancer()
  until(() => balancer.close())
  const servers = { http, stdio: stdioEntry() }
  const gateways = await Promise.all([1, 2].map(() => startGateway(servers, { principal }, {}, until)))
  balancer.targets = gateways.map((gateway) => gateway.url)
  url = balancer.url
  return async () => {
    for (const end of ends) await end()
  }
})

test.each(['v1', 'v2 in a session'] as const)(
  'a session of the client %s keeps what it noted, at either',
  async (kind) => {
    for (const server of ['http', 'stdio']) {
      const [ann, bob] = await Promise.all([connectClient(kind, url), connectClient(kind, url)])
      await call(ann, `${server}_note`, { text: 'milk' })
      await call(bob, `${server}_note`, { text: 'bread' })
      for (let time = 0; time < 3; time++) {
        expect(await call(ann, `${server}_recall`)).toBe('milk')
        expect(await call(bob, `${server}_recall`)).toBe('bread')
      }
      expect(await call(ann, `${server}_confirm`)).toBe('accept true, accept true')
    }
  },
)

test.each(CLIENTS)('a caller who is known keeps what they noted with the client %s, at either', async (kind) => {
  for (const server of ['http', 'stdio']) {
    const names = ['ann', 'bob', 'carl'].map((name) => `${name} ${kind} ${server}`)
    const none = { elicitation: {} }
    const clients = await Promise.all(names.map((name) => connectClient(kind, url, { 'x-user': name }, none)))
    for (const [turn, client] of clients.entries()) await call(client, `${server}_note`, { text: names[turn] })
    for (let time = 0; time < 3; time++)
      for (const [turn, client] of clients.entries()) expect(await call(client, `${server}_recall`)).toBe(names[turn])
    for (const client of clients) expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
  }
})
