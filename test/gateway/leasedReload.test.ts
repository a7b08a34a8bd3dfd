/** Gateways with PostgreSQL that read a file again in which the entry of a server has changed, while callers use the server. */
import { expect, onTestFinished, test } from 'vitest'
import { rows } from '../amount.ts'
import { call as byHand } from '../fixtures/modernClient.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { call, connectClient, sessionServer, stdioEntry } from './fixtures/gateways.ts'
import { startMember, startMortalMember } from './fixtures/member.ts'
import { sure, textOf } from './fixtures/parkedRounds.ts'

/** Two gateways, and a caller of the first whose call waits for an answer while the entries of the servers change. */
async function start() {
  const http = await sessionServer()
  const database = await newDatabase()
  const options = { settings: { postgres: database } }
  const entries = (more: object = {}): object => ({
    http: { url: http.url, pannier: { state: 'stateful', ...more } },
    stdio: stdioEntry({ state: 'stateful', ...more }),
  })
  const [first, second] = await Promise.all([startMortalMember(entries(), options), startMember(entries(), options)])
  const change = async (): Promise<void> => {
    for (const gateway of [first, second]) {
      await gateway.reload(entries({ timeoutSeconds: 98 }))
    }
  }
  return { first, second, change, database, http }
}

test.each(rows(['stdio', 'http'], 1))(
  'a caller of %s has one place while the old server ends, and after it: no other gateway takes the caller',
  async (server) => {
    const { first, second, change, database } = await start()
    const round = async (url: string, tool: string, args = {}, brought: object = {}) =>
      (await byHand(url, `${server}_${tool}`, args, { params: { ...brought } })).message
    const asked = await round(first.url, 'confirm')
    await change()
    await round(first.url, 'note', { text: 'milk' })
    expect(textOf((await round(second.url, 'recall')).result)).toBe('milk')
    // The old server's last call ends, and the old server with it.
    const again = await round(second.url, 'confirm', {}, sure(asked.result))
    expect(textOf((await round(first.url, 'confirm', {}, sure(again.result))).result)).toBe('accept true, accept true')
    const rows = () => runSql<{ owner: string }>(database, 'SELECT owner FROM pannier.placements')
    for (let time = 0; time < 20; time++) {
      expect(await rows()).toHaveLength(1)
      for (const { url } of [second, first]) expect(textOf((await round(url, 'recall')).result)).toBe('milk')
    }
  },
)

test.each([
  ['http', 'salt'],
  ['stdio', ''],
])(
  'a caller of %s begins anew once, and what is kept then is what outlives the gateway: "%s"',
  async (server, left) => {
    const { first, second, change } = await start()
    const balancer = await startBalancer()
    onTestFinished(() => balancer.close())
    balancer.targets = [first.url]
    const client = await connectClient('v1', balancer.url)
    await call(client, `${server}_note`, { text: 'milk' })
    await change()
    expect(await call(client, `${server}_recall`)).toBe('')
    await call(client, `${server}_note`, { text: 'salt' })
    balancer.targets = [second.url]
    expect(await call(client, `${server}_recall`)).toBe('salt')
    await first.end('SIGKILL')
    expect(await call(client, `${server}_recall`)).toBe(left)
  },
)
