import { beforeAll, expect, test } from 'vitest'
import pg from 'pg'
import { newDatabase, runSql } from '../../test/postgres/database.ts'
import { newTask } from '../../test/tasks/contract/harness.ts'
import { postgres } from './database.ts'
import { postgresEngine } from './tasks/engine.ts'
import { migrate, schemaNames } from './schema.ts'

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
