/** Our gateway in other forms: each of two workers, or with PostgreSQL, where each fleet has a database of its own. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { PostgresServer } from '../../postgres/server.ts'
import { type GatewayCommand, PANNIER } from './gateways.ts'

export const VARIANTS = ['workers', 'postgres'] as const

export type Variant = (typeof VARIANTS)[number]

/** PostgreSQL ends with this process. */
export async function commandOf(variant: Variant): Promise<GatewayCommand> {
  if (variant === 'workers') return { ...PANNIER, args: [...PANNIER.args, '--workers', '2'], hasWorkers: true }
  const server = await PostgresServer.start()
  const database = async (): Promise<string> => {
    const name = `matrix_${randomBytes(6).toString('hex')}`
    const client = new pg.Client({ connectionString: server.url() })
    await client.connect()
    await client.query(`CREATE DATABASE ${name}`)
    await client.end()
    return server.url(name)
  }
  return { ...PANNIER, args: [...PANNIER.args, '--postgres', 'DATABASE'], database }
}
