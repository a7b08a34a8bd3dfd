import { afterEach, expect, test } from 'vitest'
import { newKey } from '../state/index.ts'
import { createServer, type Server } from './index.ts'

const servers: Server[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.drain({ deadlineMs: 0 }))))

async function start(advertise?: string) {
  const warned: object[] = []
  const logger = { debug() {}, info() {}, warn: (details: object) => void warned.push(details), error() {} }
  const server = createServer({ name: 'test', version: '1', keys: KEYS, logger, ...(advertise && { advertise }) })
  servers.push(server)
  const { url } = await server.listen()
  return { url, warned }
}

const KEYS = newKey()

test('an instance that advertises the address of another, or one where nobody is, says so in its log', async () => {
  const one = await start()
  const two = await start(one.url)
  await expect.poll(() => two.warned).toEqual([{ advertise: one.url, why: expect.stringContaining('409') }])
  const nobody = await start('http://127.0.0.1:1/mcp')
  await expect.poll(() => nobody.warned).toEqual([{ advertise: 'http://127.0.0.1:1/mcp', why: 'bad port' }])
  expect(one.warned).toEqual([])
})
