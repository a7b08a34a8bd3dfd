/** A store for the contract in a new database on the PostgreSQL of this test run. */
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { TaskEngine } from '../../../src/tasks/engine.ts'
import type { EngineStore } from './contract.ts'
import { postgres } from '../../../src/postgres/database.ts'
import { postgresEngine } from '../../../src/postgres/tasks/engine.ts'
import { newDatabase } from '../../postgres/database.ts'

const program = fileURLToPath(new URL('../programs/postgresWorker.ts', import.meta.url))

export async function newPostgresStore(): Promise<EngineStore> {
  const url = await newDatabase()
  const schema = `store_${randomBytes(4).toString('hex')}`
  return {
    // Each engine has a connection of its own, as it would in a process of its own.
    engine(options): TaskEngine {
      const connection = postgres({ url, schema, maxConnections: 4 })
      const engine = postgresEngine(connection, options)
      const close = engine.close.bind(engine)
      return Object.assign(engine, { close: () => close().then(() => connection.close()) })
    },
    worker: ['--no-warnings', program, url, schema],
    // The test server is removed with its databases.
    remove: async () => {},
  }
}
