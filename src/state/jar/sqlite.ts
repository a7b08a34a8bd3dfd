/**
 * A jar in a SQLite file.
 *
 * - Values are not encrypted. Deleted values are overwritten (secure_delete), so that cleared state is not in the file.
 * - Names and keys are stored as JSON strings, because SQLite would change those with a NUL or a lone surrogate.
 *   The context of server state is the empty string, which is no JSON string.
 */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { assertOptionNames, nodeModule } from '../../protocol/index.ts'
import { inTransaction, openSqliteFile, withoutWaiting, withStoreErrors } from '../stores/sqliteFile.ts'
import { lockPauseMs, SqliteWrites } from '../stores/sqliteWrites.ts'
import {
  createJar,
  JAR_OPTIONS,
  type JarBackend,
  type JarOptions,
  type JarRecord,
  jarSettings,
  parseValue,
  scopeOf,
} from './jar.ts'
import type { Jar, JarEntry, JarFilter, JarKey } from './store.ts'

export interface SqliteJarOptions extends JarOptions {
  /** The path of the file, which is created with its folder if it does not exist. `:memory:` is for tests. */
  path: string
  /**
   * Waits with each write until it is on the disk (synchronous = FULL), which takes 10 to 20 times as long. Without it,
   * a power cut may lose the last writes. A killed process loses nothing in either case. @default false
   */
  survivesPowerLoss?: boolean
}

/** A jar for all processes of a user. Its statements are synchronous; a write waits up to 5 s for a lock. */
export function sqliteJar(given: SqliteJarOptions): Jar {
  assertOptionNames(given, { ...JAR_OPTIONS, path: true, survivesPowerLoss: true }, 'sqliteJar')
  const { path, survivesPowerLoss = false, ...options } = given
  const settings = jarSettings(options)
  return createJar(sqliteBackend(openJarFile(path, survivesPowerLoss)), settings)
}

interface PathOptions {
  /** The environment. @default process.env */
  env?: Readonly<Record<string, string | undefined>>
  /** The operating system. @default process.platform */
  platform?: NodeJS.Platform
  /** The home folder of the user. @default that of the system */
  home?: string
}

/** The path of the jar of the program `pannier`: in the folder that this system has for data of a user. */
export function defaultJarPath({ env = process.env, platform = process.platform, home }: PathOptions = {}): string {
  const { posix, win32 } = nodeModule('node:path')
  const { join, isAbsolute } = platform === 'win32' ? win32 : posix
  const own = () => home ?? nodeModule('node:os').homedir()
  // The XDG Base Directory specification: a relative path is ignored.
  const named = platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_DATA_HOME']
  if (named !== undefined && isAbsolute(named)) return join(named, 'pannier', 'jar.db')
  if (platform === 'win32') return join(own(), 'AppData', 'Local', 'pannier', 'jar.db')
  if (platform === 'darwin') return join(own(), 'Library', 'Application Support', 'pannier', 'jar.db')
  return join(own(), '.local', 'share', 'pannier', 'jar.db')
}

const SCHEMA = `
  CREATE TABLE entries (
    principal TEXT NOT NULL, server TEXT NOT NULL, context TEXT NOT NULL, name TEXT NOT NULL,
    value TEXT NOT NULL, bytes INTEGER NOT NULL, updated_at INTEGER NOT NULL, used_at INTEGER NOT NULL,
    PRIMARY KEY (principal, server, context, name)
  ) STRICT`

function openJarFile(path: string, survivesPowerLoss: boolean): DatabaseSync {
  return openSqliteFile(path, {
    applicationId: 0x50_4a_61_72, // "PJar"
    makesFolder: true,
    noun: 'a jar',
    migrations: [SCHEMA],
    pragmas: `PRAGMA synchronous = ${survivesPowerLoss ? 'FULL' : 'NORMAL'}; PRAGMA secure_delete = ON`,
  })
}

const ENTRY = 'principal, server, context, name, bytes, updated_at, used_at'
const KEY = 'principal = :principal AND server = :server AND context = :context'

const ERASE_TRIES = 25

function sqliteBackend(database: DatabaseSync): JarBackend {
  const statements = withStoreErrors(() => prepareStatements(database))
  const writes = new SqliteWrites(database)

  function select(selected: string, filter: JarFilter): JarRow[] {
    const columns = ['principal', 'server', 'name'] as const
    const wanted = columns.filter((column) => filter[column] !== undefined)
    const where = wanted.map((column) => `${column} = ?`).join(' AND ')
    const query = `SELECT ${selected} FROM entries WHERE ${where || 'true'} ORDER BY principal, server, context, name`
    return withStoreErrors(() => database.prepare(query).all(...wanted.map((column) => JSON.stringify(filter[column]))))
  }

  return {
    atomically: (run) => writes.run(() => inTransaction(database, run)),

    read(owner) {
      return withStoreErrors(() => statements.read.all(keyOf(owner))).map(recordOf)
    },

    put(key, { name, text, bytes }, { now, knownSince }) {
      statements.put.run({ ...keyOf(key), name: JSON.stringify(name), value: text, bytes, now, knownSince })
    },

    delete(key, name) {
      statements.delete.run({ ...keyOf(key), name: JSON.stringify(name) })
    },

    touch(owner, now, { sessionUsedAt }) {
      try {
        withoutWaiting(database, () => statements.touch.run({ ...keyOf(owner), now, sessionUsedAt }))
      } catch {
        // Another process is writing, or the file is read-only. Then the order of use is slightly out of date.
      }
    },

    count({ principal, server }) {
      const row = statements.count.get({ principal: JSON.stringify(principal), server: JSON.stringify(server) })
      return { ofServer: Number(row?.['of_server'] ?? 0), ofPrincipal: Number(row?.['of_principal'] ?? 0) }
    },

    entries: (filter) => select(ENTRY, filter).map(entryOf),

    items: (filter) => select(`${ENTRY}, value`, filter).map(itemOf),

    async endContext(principal, context) {
      const keys = { principal: JSON.stringify(principal), context: JSON.stringify(context) }
      await writes.run(() => statements.endContext.run(keys))
    },

    sweep({ updatedAt, sessionUsedAt }) {
      statements.sweep.run({ updatedAt, sessionUsedAt })
    },

    // The write-ahead log may contain deleted values until it is truncated. If others use it all the time, that happens
    // later.
    erase: () => tryUntil(() => truncateLog(database)),

    close() {
      if (database.isOpen) database.close()
    },
  }
}

function prepareStatements(database: DatabaseSync) {
  return {
    read: database.prepare(
      `SELECT context, name, value, updated_at, used_at FROM entries
       WHERE principal = :principal AND server = :server AND context IN (:context, '')`,
    ),
    // The same condition as `isKnown`: an equal value that was written recently is not written again.
    put: database.prepare(
      `INSERT INTO entries (${ENTRY}, value) VALUES (:principal, :server, :context, :name, :bytes, :now, :now, :value)
       ON CONFLICT DO UPDATE SET value = :value, bytes = :bytes, updated_at = :now, used_at = :now
       WHERE value <> :value OR updated_at <= :knownSince OR updated_at > :now`,
    ),
    delete: database.prepare(`DELETE FROM entries WHERE ${KEY} AND name = :name`),
    touch: database.prepare(
      `UPDATE entries SET used_at = :now WHERE principal = :principal AND server = :server
       AND (context = '' OR (context = :context AND used_at > :sessionUsedAt))`,
    ),
    count: database.prepare(
      `SELECT count(*) AS of_principal, sum(server = :server) AS of_server FROM entries WHERE principal = :principal`,
    ),
    endContext: database.prepare('DELETE FROM entries WHERE principal = :principal AND context = :context'),
    sweep: database.prepare(
      `DELETE FROM entries WHERE updated_at <= :updatedAt OR (context <> '' AND used_at <= :sessionUsedAt)`,
    ),
  }
}

const sleep = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms))

/** Tries something with pauses that become longer, and gives up in the end. */
export async function tryUntil(isDone: () => boolean, pause: (ms: number) => Promise<unknown> = sleep): Promise<void> {
  for (let tries = 1; !isDone() && tries < ERASE_TRIES; tries++) await pause(lockPauseMs(tries))
}

/** Returns whether the write-ahead log was truncated, which fails while others use it. */
function truncateLog(database: DatabaseSync): boolean {
  const truncate = () => database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
  return withStoreErrors(() => withoutWaiting(database, truncate))?.['busy'] === 0
}

type JarRow = Record<string, SQLOutputValue>

function keyOf({ principal, server, context }: JarKey) {
  return {
    principal: JSON.stringify(principal),
    server: JSON.stringify(server),
    context: context === undefined ? '' : JSON.stringify(context),
  }
}

function recordOf(row: JarRow): JarRecord {
  const context = row['context'] === '' ? undefined : ''
  return {
    scope: scopeOf({ context }),
    name: textIn(row, 'name'),
    text: String(row['value']),
    updatedAt: Number(row['updated_at']),
    usedAt: Number(row['used_at']),
  }
}

function entryOf(row: JarRow): JarEntry {
  const context = row['context'] === '' ? undefined : textIn(row, 'context')
  return {
    principal: textIn(row, 'principal'),
    server: textIn(row, 'server'),
    context,
    scope: scopeOf({ context }),
    name: textIn(row, 'name'),
    bytes: Number(row['bytes']),
    updatedAt: Number(row['updated_at']),
    usedAt: Number(row['used_at']),
  }
}

function itemOf(row: JarRow): JarEntry & { text: string } {
  return { ...entryOf(row), text: String(row['value']) }
}

function textIn(row: JarRow, column: string): string {
  return String(parseValue(String(row[column])))
}
