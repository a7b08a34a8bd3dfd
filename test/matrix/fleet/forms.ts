/** The forms of a fleet: gateways of ours before a server, and instances of our own server without a gateway. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { PostgresServer } from '../../postgres/server.ts'
import { type GatewayCommand, INSTANCES, PANNIER } from './gateways.ts'

export const FORMS = ['gateways', 'workers', 'postgres', 'servers', 'servers-sqlite', 'servers-postgres'] as const

export type Form = (typeof FORMS)[number]

let server: Promise<PostgresServer> | undefined

/** Each fleet has a database of its own. PostgreSQL ends with this process. */
async function database(): Promise<string> {
  server ??= PostgresServer.start()
  const name = `matrix_${randomBytes(6).toString('hex')}`
  const client = new pg.Client({ connectionString: (await server).url() })
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  return (await server).url(name)
}

const { args } = PANNIER

/** Behind gateways that share nothing, our own server keeps its journals with the client; else in a store. */
export const COMMANDS: Readonly<Record<Form, GatewayCommand>> = {
  gateways: PANNIER,
  workers: { ...PANNIER, args: [...args, '--workers', '2'], hasWorkers: true, replicas: 2, store: 'sqlite' },
  postgres: { ...PANNIER, args: [...args, '--postgres', 'DATABASE'], database, store: 'postgres' },
  servers: INSTANCES,
  'servers-sqlite': { ...INSTANCES, store: 'sqlite' },
  'servers-postgres': { ...INSTANCES, database, store: 'postgres' },
}
