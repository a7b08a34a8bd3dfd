import type { DatabaseSync } from 'node:sqlite'
import { jarOn } from './jar.ts'
import { type JarOptions, jarSettings } from './options.ts'
import type { JarShelf } from './backend.ts'
import type { Jar, JarFilter } from './store.ts'
import { inTransaction, saying } from '../stores/sqliteFile.ts'
import { openJarFile, withoutWaiting } from './sqliteFile.ts'
import { entryOf, itemOf, keyOf, type Row, recordOf } from './sqliteRows.ts'

export interface SqliteJarOptions extends JarOptions {
  /** The file; it is made when there is none, with its folder. `:memory:` is for tests. */
  path: string
  /**
   * Waits for the disk with each write, 10 to 20 times as long. Without, the last writes before a power cut may be
   * gone; a killed process loses nothing either way. @default false
   */
  survivesPowerLoss?: boolean
}

/** A jar in a file, for all processes of a user. Calls are synchronous inside and may wait up to 5 s for each other. */
export function sqliteJar({ path, survivesPowerLoss = false, ...options }: SqliteJarOptions): Jar {
  const settings = jarSettings(options)
  return jarOn(sqliteShelf(openJarFile(path, survivesPowerLoss)), settings)
}

const ENTRY = 'principal, server, context, name, bytes, updated_at, used_at'
const KEY = 'principal = :principal AND server = :server AND context = :context'

function sqliteShelf(database: DatabaseSync): JarShelf {
  const statements = saying(() => prepareStatements(database))

  function select(selected: string, filter: JarFilter): Row[] {
    const columns = ['principal', 'server', 'name'] as const
    const wanted = columns.filter((column) => filter[column] !== undefined)
    const where = wanted.map((column) => `${column} = ?`).join(' AND ')
    const query = `SELECT ${selected} FROM entries WHERE ${where || 'true'} ORDER BY principal, server, context, name`
    return saying(() => database.prepare(query).all(...wanted.map((column) => JSON.stringify(filter[column]))))
  }

  return {
    atomically: (run) => saying(() => inTransaction(database, run)),

    read(owner) {
      return saying(() => statements.read.all(keyOf(owner))).map(recordOf)
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
        // Somebody else is writing, or nobody can: the order of use is then a little older than it could be.
      }
    },

    count({ principal, server }) {
      const row = statements.count.get({ principal: JSON.stringify(principal), server: JSON.stringify(server) })
      return { ofServer: Number(row?.['of_server'] ?? 0), ofPrincipal: Number(row?.['of_principal'] ?? 0) }
    },

    entries: (filter) => select(ENTRY, filter).map(entryOf),

    items: (filter) => select(`${ENTRY}, value`, filter).map(itemOf),

    endContext(principal, context) {
      const keys = { principal: JSON.stringify(principal), context: JSON.stringify(context) }
      saying(() => statements.endContext.run(keys))
    },

    sweep({ updatedAt, sessionUsedAt }) {
      statements.sweep.run({ updatedAt, sessionUsedAt })
    },

    // The log may hold old pages until it is emptied; where others are using it, that happens later.
    forget() {
      saying(() => database.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
    },

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
    // A value that is known is left alone, so that setting it again writes nothing.
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
