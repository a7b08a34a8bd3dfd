/**
 * A lock that the processes of one machine take in turn. It is SQLite's lock of an empty file, so the system frees it
 * when its holder ends, however it ends.
 *
 * Once the file exists, it is never opened and closed here: closing it would free all locks of this process.
 */
import { closeSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { isLocked, LOCK_WAIT_MS, sqliteClass, withStoreErrors } from './sqliteFile.ts'
import { lockPauseMs } from './sqliteWrites.ts'

interface FileLockOptions {
  /** How long the lock is waited for before STORE_UNAVAILABLE is thrown. @default 5000 */
  readonly waitMs?: number
}

/** Takes the lock. Gives the function that frees it, which may be called again. Errors of the file system pass as they are. */
export async function lockFile(path: string, { waitMs = LOCK_WAIT_MS }: FileLockOptions = {}): Promise<() => void> {
  const database = openEmpty(path)
  const giveUpAt = performance.now() + waitMs
  for (let tries = 1; ; tries++) {
    try {
      withStoreErrors(() => database.exec('BEGIN EXCLUSIVE'))
      return () => void (database.isOpen && database.close())
    } catch (error) {
      if (!isLocked(error) || performance.now() > giveUpAt) {
        database.close()
        throw error
      }
    }
    await sleep(lockPauseMs(tries))
  }
}

/** Runs a function that has the lock. */
export async function withFileLock<Result>(
  path: string,
  run: () => Promise<Result>,
  options: FileLockOptions = {},
): Promise<Result> {
  const free = await lockFile(path, options)
  try {
    return await run()
  } finally {
    free()
  }
}

function openEmpty(path: string): DatabaseSync {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  // SQLite reads paths that begin with "file:" as addresses.
  return withStoreErrors(() => new (sqliteClass())(resolve(path), { timeout: 0 }))
}
