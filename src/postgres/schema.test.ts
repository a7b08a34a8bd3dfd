import { beforeAll, expect, test } from 'vitest'
import pg from 'pg'
import { newDatabase, runSql } from '../../test/postgres/database.ts'
import { answering, newTask } from '../../test/tasks/contract/harness.ts'
import { ManualWorker } from '../../test/tasks/contract/manualWorker.ts'
import { postgres } from './database.ts'
import { postgresEngine } from './tasks/engine.ts'
import { digest } from './digest.ts'
import { MIGRATIONS, migrate, schemaNames } from './schema.ts'

let url: string
beforeAll(async () => void (url = await newDatabase()))

const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })
const migrations = [
  (tables: string) => `CREATE TABLE ${tables}.notes (text text NOT NULL); INSERT INTO ${tables}.notes VALUES ('kept')`,
  (tables: string) => `ALTER TABLE ${tables}.notes ADD COLUMN pages integer NOT NULL DEFAULT 1`,
  (tables: string) => `UPDATE ${tables}.notes SET pages = pages + 1`,
]

test.each([0, 1, 2, 3])('a schema of version %i becomes the newest, and what is in it is kept', async (version) => {
  const names = schemaNames(`from_${version}`)
  const pool = new pg.Pool({ connectionString: url })
  if (version > 0) await migrate(pool, names, migrations.slice(0, version))
  await migrate(pool, names, migrations)
  await migrate(pool, names, migrations)
  expect((await pool.query(`SELECT * FROM ${names.tables}.notes`)).rows).toEqual([{ text: 'kept', pages: 2 }])
  expect((await pool.query(`SELECT * FROM ${names.tables}.schema_version`)).rows).toEqual([{ version: 3 }])
  await pool.end()
})

test('a migration that fails changes nothing, and is tried again', async () => {
  const names = schemaNames('fails')
  const pool = new pg.Pool({ connectionString: url })
  const failing = [...migrations.slice(0, 1), () => 'CREATE TABLE nowhere.notes ()']
  await expect(migrate(pool, names, failing)).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect(await runSql(url, `SELECT to_regnamespace('fails') AS found`)).toEqual([{ found: null }])
  await migrate(pool, names, migrations)
  expect((await pool.query(`SELECT * FROM ${names.tables}.notes`)).rows).toEqual([{ text: 'kept', pages: 2 }])
  await pool.end()
})

test('engines that open an empty database at the same time all open it', async () => {
  const connections = Array.from({ length: 5 }, () => postgres({ url, schema: 'crowd', maxConnections: 2 }))
  const engines = connections.map((connection) => postgresEngine(connection))
  await Promise.all(engines.map((engine) => engine.open({ audience: 'test', logger })))
  const made = await Promise.all(engines.map((engine) => engine.create(newTask())))
  for (const { id } of made) expect(await engines[0]?.read(id, 'ann')).toMatchObject({ status: 'working' })
  await Promise.all(engines.map((engine) => engine.close()))
  await Promise.all(connections.map((connection) => connection.close()))
})

/** The version in which pg-boss had the leases. */
const WITH_JOBS = 9
const JOB = '00000000-0000-0000-0000-000000000001'

test('tasks of a schema from before there was one engine are read, answered and run with their journals', async () => {
  const pool = new pg.Pool({ connectionString: url })
  await migrate(pool, schemaNames('earlier'), MIGRATIONS.slice(0, WITH_JOBS))
  const queue = `chore/${digest('test', 'chore').toString('hex').slice(0, 32)}`
  const add = (id: string, status: string, isHeld: boolean) =>
    pool.query(
      `INSERT INTO earlier.tasks (address, owner, holder, call, id, tool, queue, args, caller, call_id, round, status, held, job)
       VALUES ($1, $2, $2, $3, $4, 'chore', $5, '{"n":1}', '{}', '"call"', 1, $6, $7, $8)`,
      [
        digest('test', id),
        digest('test', 'ann'),
        digest('test', 'ann', id),
        id,
        queue,
        status,
        isHeld,
        isHeld ? JOB : null,
      ],
    )
  await add('asked', 'input_required', false)
  await add('held', 'working', true)
  await pool.query(
    `INSERT INTO earlier.questions (task, wire_key, key, times, request, state)
       VALUES (1, '"b"', '"b"', 1, '{"method":"elicitation/create"}', 'open');
     INSERT INTO earlier.steps (task, key, value) VALUES (1, '"first"', '7');
     INSERT INTO earlier.claims (task, key, attempt) VALUES (2, '"claimed"', gen_random_uuid())`,
  )
  await pool.end()

  const connection = postgres({ url, schema: 'earlier' })
  const engine = postgresEngine(connection)
  await engine.open({ audience: 'test', logger })
  expect(await engine.read('asked', 'bob')).toBeUndefined()
  expect(await engine.read('asked', 'ann')).toMatchObject({ status: 'input_required', tool: 'chore' })
  const worker = new ManualWorker(engine, ['chore'], 2)
  const held = await worker.nextLease()
  expect([held.id, held.args, await held.claim('claimed')]).toEqual(['held', { n: 1 }, 'running'])
  await engine.answer('asked', 'ann', answering('b'))
  const { id, journal } = await worker.nextLease()
  expect([id, journal.id, journal.steps]).toEqual(['asked', 'call', new Map([['first', { value: 7 }]])])
  expect([...journal.answers.keys()]).toEqual(['b'])
  await engine.close()
  await connection.close()
})
