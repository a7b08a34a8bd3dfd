/** A store that breaks while a server runs: new tasks are refused and health says why, until it works again. */
import { closeSync, copyFileSync, openSync, readSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { postgres, postgresTasks } from 'pannier/postgres'
import { createServer, type Tasks } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { expect, onTestFinished, test } from 'vitest'
import { TaskCaller } from '../fixtures/modernClient.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { listening, storePath } from './fixtures/echoServer.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** A store, and how it breaks and is repaired. */
interface Breakable {
  readonly tasks: Tasks
  readonly break: () => unknown
  readonly repair: () => unknown
}

function inFile(path: string, sql: string): void {
  const database = new DatabaseSync(path, { timeout: 5000 })
  database.exec(sql)
  database.close()
}

function withoutTable(table: string): Breakable {
  const path = storePath()
  return {
    tasks: sqliteTasks({ path, leaseMs: 1500 }),
    break: () => inFile(path, `ALTER TABLE ${table} RENAME TO elsewhere`),
    repair: () => inFile(path, `ALTER TABLE elsewhere RENAME TO ${table}`),
  }
}

function movedFile(): Breakable {
  const path = storePath()
  return {
    tasks: sqliteTasks({ path, leaseMs: 1500 }),
    break: () => renameSync(path, `${path}.away`),
    repair: () => renameSync(`${path}.away`, path),
  }
}

function damagedPage(): Breakable {
  const path = storePath()
  let before = Buffer.alloc(4096)
  let at = 0
  const write = (page: Buffer): void => {
    const file = openSync(path, 'r+')
    if (at > 0 && page !== before) readSync(file, before, 0, 4096, at)
    writeSync(file, page, 0, 4096, at)
    closeSync(file)
    inFile(path, 'UPDATE changes SET last = last + 1') // its connections forget the pages that they have read
  }
  return {
    tasks: sqliteTasks({ path, leaseMs: 1500 }),
    break: () => {
      const database = new DatabaseSync(path, { timeout: 5000 })
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      const row = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'steps'").get()
      database.close()
      at = (Number(row?.['rootpage']) - 1) * 4096
      before = Buffer.alloc(4096)
      write(Buffer.alloc(4096, 0x55))
    },
    repair: () => write(before),
  }
}

async function inDatabase(table: string): Promise<Breakable> {
  const url = await newDatabase()
  const connection = postgres({ url, schema: 'it' })
  onTestFinished(() => connection.close())
  const [schema = '', name = ''] = table.split('.')
  return {
    tasks: postgresTasks(connection, { leaseMs: 1500 }),
    break: () => runSql(url, `ALTER TABLE ${schema}.${name} RENAME TO elsewhere`),
    repair: () => runSql(url, `ALTER TABLE ${schema}.elsewhere RENAME TO ${name}`),
  }
}

test.each([
  ['a file without the table of questions', () => withoutTable('questions')],
  ['a file without the table of steps', () => withoutTable('steps')],
  ['a file that was moved away', movedFile],
  ['a file with a damaged page', damagedPage],
  ['a database without the table of steps', () => inDatabase('it.steps')],
  ['a database without the table of calls', () => inDatabase('it.calls')],
])('with %s a server refuses new tasks, says so, and takes them again when it is repaired', async (_, make) => {
  const store = await make()
  const server = createServer({ name: 'broken-store', version: '1', logger: silent, tasks: store.tasks })
  server.tool('work', { description: 'Works.', task: 'required' }, () => 'done')
  const caller = new TaskCaller(await listening(server))
  onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
  await expect(caller.until(await caller.create('work'))).resolves.toMatchObject({ status: 'completed' })
  expect(server.trouble).toBeUndefined()

  await store.break()
  await expect.poll(() => server.trouble).toMatch(/file|table|damaged/)
  expect(await caller.call('work')).toMatchObject({
    code: -32603,
    message: expect.stringContaining('task store of this server does not work'),
  })

  await store.repair()
  await expect.poll(() => server.trouble).toBeUndefined()
  await expect(caller.until(await caller.create('work'))).resolves.toMatchObject({ status: 'completed' })
})

test('a store that cannot be opened is said to be in trouble, until it can', async () => {
  const path = storePath()
  writeFileSync(path, 'notes about something else\n'.repeat(100))
  const server = createServer({ name: 'broken-store', version: '1', logger: silent, tasks: sqliteTasks({ path }) })
  server.tool('work', { description: 'Works.', task: 'required' }, () => 'done')
  const host = createHttpServer(server.nodeHandler())
  onTestFinished(async () => {
    host.close()
    await server.drain({ deadlineMs: 1000, idleMs: 0 })
  })
  await once(host.listen(0, '127.0.0.1'), 'listening')
  const caller = new TaskCaller(`http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`)
  expect(await caller.call('work')).toMatchObject({ code: -32603 })
  expect(server.trouble).toMatch(/cannot be used/)
  rmSync(path)
  await expect(caller.until(await caller.create('work'))).resolves.toMatchObject({ status: 'completed' })
  expect(server.trouble).toBeUndefined()
})

test('a file that was deleted, and restored from a copy, is used again', async () => {
  const path = storePath()
  const server = createServer({ name: 'broken-store', version: '1', logger: silent, tasks: sqliteTasks({ path }) })
  server.tool('work', { description: 'Works.', task: 'required' }, () => 'done')
  const caller = new TaskCaller(await listening(server))
  onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
  const first = await caller.create('work')
  await caller.until(first)
  inFile(path, 'PRAGMA wal_checkpoint(TRUNCATE)')
  copyFileSync(path, `${path}.copy`)
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file)
  expect(await caller.call('work')).toMatchObject({ code: -32603 })
  expect(server.trouble).toMatch(/deleted/)
  renameSync(`${path}.copy`, path)
  await expect.poll(() => server.trouble).toBeUndefined()
  await expect(caller.until(await caller.create('work'))).resolves.toMatchObject({ status: 'completed' })
  expect(await caller.get(first)).toMatchObject({ status: 'completed' })
})
