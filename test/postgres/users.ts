import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { type PostgresOptions, postgres } from '../../src/postgres/database.ts'
import { postgresEngine } from '../../src/postgres/tasks/engine.ts'
import { runSql } from './database.ts'

/** The password of every user that tests create. It must never appear in an error. */
export const secret = 's3cr3t-of-nobody'

/** The address of the same database for a new user, who may log in and nothing else. */
export async function newUser(url: string): Promise<{ readonly name: string; readonly url: string }> {
  const name = `user_${randomBytes(4).toString('hex')}`
  await runSql(url, `CREATE USER ${name} PASSWORD '${secret}'`)
  return { name, url: Object.assign(new URL(url), { username: name, password: secret }).href }
}

export interface Fault {
  readonly code: unknown
  readonly message: string
  /** Everything that a log could show. */
  readonly text: string
}

/** The error of opening an engine; undefined when it opens. */
export async function openingFault(options: PostgresOptions): Promise<Fault | undefined> {
  const connection = postgres(options)
  const engine = postgresEngine(connection)
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  try {
    await engine.open({ audience: 'test', logger: () => logger })
    return undefined
  } catch (error) {
    const { code, message } = error as Error & { code: unknown }
    return { code, message, text: inspect(error, { depth: Infinity, showHidden: true }) }
  } finally {
    await engine.close()
    await connection.close()
  }
}
