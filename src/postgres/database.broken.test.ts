import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { newDatabase } from '../../test/postgres/database.ts'
import { Database, type PostgresOptions } from './database.ts'

const READY = Buffer.from([0x5a, 0, 0, 0, 5])
const FATAL = message('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')

function message(type: string, body: string): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(4 + body.length)
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)])
}

const cleaning: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleaning.splice(0).toReversed()) await clean()
})

/** In front of a database. Told to, it ends each connection right behind an answer, as a server that is stopped does. */
class Front {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  isEnding = false

  static async of(url: string): Promise<{ front: Front; url: string }> {
    const address = new URL(url)
    const front = new Front(Number(address.port))
    await once(front.#server.listen(0, '127.0.0.1'), 'listening')
    const at = front.#server.address()
    address.port = typeof at === 'object' && at !== null ? `${at.port}` : ''
    cleaning.push(() => front.#close())
    return { front, url: address.href }
  }

  private constructor(port: number) {
    this.#server = createServer((near) => {
      const far = connect(port, '127.0.0.1')
      for (const socket of [near, far]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
      }
      near.pipe(far)
      far.on('data', (data) => {
        const isAnswer = data.subarray(-6, -1).equals(READY)
        if (this.isEnding && isAnswer) near.end(Buffer.concat([data, FATAL]))
        else near.write(data)
      })
    })
  }

  #close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }
}

/** Breaks connections while others wait for one, and uses the database again. */
async function survive(options: PostgresOptions, front: Front): Promise<void> {
  const database = new Database(options)
  cleaning.push(() => database.close())
  const sql = await database.statements()
  await sql.rows('SELECT 1')
  front.isEnding = true
  const waiting = Array.from({ length: 6 }, () => database.transaction({ idleMs: 1000 }, (tx) => tx.rows('SELECT 1')))
  const outcomes = await Promise.allSettled([...Array.from({ length: 6 }, () => sql.rows('SELECT 1')), ...waiting])
  expect(outcomes.map(({ status }) => status)).toContain('rejected')
  front.isEnding = false
  expect(await sql.rows('SELECT 1 AS one')).toEqual([{ one: 1 }])
}

test('a connection that breaks when the pool hands it out does not end the process', async () => {
  const { front, url } = await Front.of(await newDatabase())
  await survive({ url, maxConnections: 2 }, front)
})

test('nor does one of a pool that was passed in', async () => {
  const { front, url } = await Front.of(await newDatabase())
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  cleaning.push(() => pool.end())
  await survive({ pool }, front)
})
