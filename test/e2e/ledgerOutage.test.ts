/** An ordinary call whose ledger, in PostgreSQL, cannot be reached: what the table of docs/explanation/promises.md says. */
import { postgres, postgresLedger } from 'pannier/postgres'
import { createServer } from 'pannier/server'
import { expect, onTestFinished, test } from 'vitest'
import { accept, call, type Wire } from '../fixtures/modernClient.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { TcpProxy } from '../postgres/tcpProxy.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const agreeForm = { message: 'Agreed?', schema: { type: 'object', properties: {} } } as const

/** A call that has been asked and can be answered any number of times. `pay` is the work that must not be done twice. */
async function askedCall(pay: (proxy: TcpProxy) => void) {
  const databaseUrl = await newDatabase()
  const url = new URL(databaseUrl)
  const proxy = await TcpProxy.start(Number(url.port))
  url.port = String(proxy.port)
  const database = postgres({ url: url.href })
  const ledger = postgresLedger(database)
  const server = createServer({ name: 'shop', version: '1', logger: silent, ledger })
  onTestFinished(async () => {
    proxy.open()
    await server.drain({ deadlineMs: 1000 })
    await database.close()
    await proxy.close()
  })
  let payments = 0
  server.tool('buy', { description: 'Buys something.' }, async (_, ctx) => {
    await ctx.ask('agree', agreeForm)
    await ctx.once('pay', () => {
      payments++
      pay(proxy)
    })
    return 'bought'
  })
  const at = (await server.listen({ port: 0, drainOnTerm: false })).url
  const { message: asked } = await call(at, 'buy')
  const params = { inputResponses: { agree: accept({}) }, requestState: asked.result.requestState }
  const answer = async (): Promise<Wire> => (await call(at, 'buy', {}, { params })).message
  await ledger.claim('connected', 60)
  return { proxy, answer, payments: () => payments, databaseUrl }
}

const unsettled = { isError: true, content: [{ text: expect.stringContaining('did not report its end') }] }

test('a ledger that cannot be reached fails the call before its work; the same round does it later, and is claimed for two days', async () => {
  const { proxy, answer, payments, databaseUrl } = await askedCall(() => {})
  proxy.cut()
  expect(await answer()).toMatchObject({ error: { code: -32603 } })
  expect(payments()).toBe(0)
  proxy.open()
  expect(await answer()).toMatchObject({ result: { content: [{ text: 'bought' }] } })
  expect(payments()).toBe(1)
  const life = `SELECT round(extract(epoch FROM expires_at - now()) / 86400) AS days FROM pannier.ledger WHERE done`
  expect(await runSql(databaseUrl, life)).toEqual([{ days: '2' }])
})

test('a ledger that is lost during the work fails the call, and the same round does not do the work again', async () => {
  const { proxy, answer, payments } = await askedCall((lost) => lost.cut())
  expect(await answer()).toMatchObject({ error: { code: -32603 } })
  proxy.open()
  expect(await answer()).toMatchObject({ result: unsettled })
  expect(payments()).toBe(1)
})

test('a ledger that is lost during work that fails does not hide why it failed', async () => {
  const { proxy, answer, payments } = await askedCall((lost) => {
    lost.cut()
    throw new Error('The bank is closed.')
  })
  expect(await answer()).toMatchObject({ result: { isError: true, content: [{ text: 'The bank is closed.' }] } })
  proxy.open()
  expect(await answer()).toMatchObject({ result: unsettled })
  expect(payments()).toBe(1)
})
