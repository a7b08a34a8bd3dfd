import { StateError } from '../state/index.ts'
import type { PostgresPool } from './pool.ts'

export interface PostgresOptions {
  /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Give this or `pool`. */
  url?: string
  /** A pool of `pg` with room for at least two connections. */
  pool?: PostgresPool
  /** Ours is the schema of this name; that of pg-boss has `_jobs` after it. @default 'pannier' */
  schema?: string
  /** How many connections at most, where `url` is given. @default 10 */
  maxConnections?: number
}

export function assertOptions({ url, pool, maxConnections = 10 }: PostgresOptions): void {
  if ((url === undefined) === (pool === undefined)) throw wrong('give either url or pool')
  if (url !== undefined && !/^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw wrong('url is postgres://USER:PASSWORD@HOST:PORT/DATABASE')
  }
  if (!Number.isInteger(maxConnections) || maxConnections < 2) throw wrong('maxConnections is a whole number from 2 on')
  if ((pool?.options?.max ?? 2) < 2) throw wrong('pool needs room for at least two connections')
}

/** Never with what was given: an address has a password in it. */
function wrong(advice: string): StateError {
  return new StateError('STATE_OPTION', `The options of postgres() are wrong: ${advice}.`)
}
