/** A store for the contract in a temporary SQLite file, which tests can also query directly. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { EngineStore } from './contract.ts'
import { sqliteEngine, type SqliteEngineOptions } from '../../../src/tasks/sqlite/engine.ts'

const program = fileURLToPath(new URL('../programs/sqliteWorker.ts', import.meta.url))

export interface SqliteTestStore extends EngineStore {
  readonly path: string
  /** Runs SQL on a connection of its own. */
  sql(text: string): Record<string, unknown>[]
}

export async function newSqliteStore(given: Partial<SqliteEngineOptions> = {}): Promise<SqliteTestStore> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-tasks-'))
  const path = join(folder, 'tasks.db')
  return {
    path,
    engine: (options) => sqliteEngine({ ...given, ...options, path }),
    worker: [program, path],
    sql: (text) => runSql(path, text),
    isLocked: () => isLocked(path),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

function runSql(path: string, text: string): Record<string, unknown>[] {
  const database = new DatabaseSync(path, { timeout: 5000 })
  try {
    return database.prepare(text).all()
  } finally {
    database.close()
  }
}

function isLocked(path: string): boolean {
  const database = new DatabaseSync(path)
  try {
    database.exec('BEGIN IMMEDIATE')
    return false
  } catch {
    return true
  } finally {
    database.close()
  }
}
