/** One store for tasks, questions, single uses and carried states. */
import { existsSync } from 'node:fs'
import { postgres, postgresStore } from 'pannier/postgres'
import { createServer, type Server, type WorkStore } from 'pannier/server'
import { newKey } from 'pannier/state'
import { sqliteStore } from 'pannier/tasks'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { newDatabase } from '../postgres/database.ts'
import { call } from '../fixtures/modernClient.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { ENGINES, type EngineName } from '../tasks/fixtures/engines.ts'
import { askless, byName, type Done, offerAsking, textOf, waitingIn } from './fixtures/askless.ts'

async function stores(engine: EngineName): Promise<{ open: () => WorkStore; path: string }> {
  const path = storePath()
  if (engine === 'SQLite') return { path, open: () => sqliteStore(path) }
  const url = await newDatabase()
  const open = (): WorkStore => {
    const connection = postgres({ url, maxConnections: 4 })
    onTestFinished(() => connection.close())
    return postgresStore(connection)
  }
  return { path, open }
}

test.each(ENGINES)('a server with one store of %s keeps everything there', async (engine) => {
  const { open, path } = await stores(engine)
  const keys = newKey()
  const done: Done = { charged: 0, deleted: [] }
  const begin = async (): Promise<{ server: Server; url: string }> => {
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const store = open()
    const server = createServer({
      name: 'x',
      version: '1',
      logger,
      keys,
      store,
      questions: true,
      principal: byName,
      carry: 'store',
    })
    offerAsking(server, done)
    server.tool('sure', { description: 'Asks.' }, async (_, ctx) =>
      String((await ctx.ask('sure', { message: 'Sure?', schema: z.object({ sure: z.boolean() }) })).sure),
    )
    onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
    return { server, url: (await server.listen({ drainOnTerm: false })).url }
  }
  const first = await begin()
  const ann = await askless('SDK v2', first.url, 'ann')
  const { ticket, questions } = waitingIn(await ann.call('delete_branch', { branch: 'old' }))
  const asked = await call(first.url, 'sure', {}, { capabilities: { elicitation: {} } })
  await first.server.drain({ deadlineMs: 0, idleMs: 0 })
  const second = await begin()
  const link = (questions[0]?.url ?? '').replace(first.url, second.url)
  await fetch(link, { method: 'POST', body: new URLSearchParams({ action: 'accept', 'field.sure': 'yes' }) })
  const later = await askless('SDK v1', second.url, 'ann')
  expect(textOf(await later.call('continue_call', { ticket }))).toBe('old is deleted')
  expect(done).toEqual({ charged: 1, deleted: ['old'] })
  expect(asked.message.result.requestState.length).toBeLessThan(300)
  if (engine === 'SQLite')
    expect(['', '-ledger', '-carried'].map((what) => existsSync(path + what))).toEqual([true, true, true])
})
