import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { lockFile, withFileLock } from './fileLock.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-lock-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const MODULE = fileURLToPath(new URL('./fileLock.ts', import.meta.url))

/** A process in the folder that has the lock and keeps it. */
async function holder(path: string) {
  const program = `
    import { lockFile } from ${JSON.stringify(MODULE)}
    await lockFile(${JSON.stringify(path)})
    process.stdout.write('locked')
    setInterval(() => {}, 60_000)`
  const args = ['--conditions=pannier-source', '--input-type=module', '--eval', program]
  const child = spawn(process.execPath, args, { cwd: folder })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

test('a lock is had by one at a time within a process, and leaves an empty file for its owner', async () => {
  const path = join(folder, 'one.lock')
  let [inside, most, runs] = [0, 0, 0]
  const run = async (): Promise<void> => {
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setTimeout(resolve, 1))
    runs++
    inside--
  }
  await Promise.all(Array.from({ length: 20 }, () => withFileLock(path, run)))
  expect([most, runs]).toEqual([1, 20])
  expect(readdirSync(folder)).toEqual(['one.lock'])
  const { size, mode } = statSync(path)
  expect([size, mode & 0o077]).toEqual([0, 0])
})

test('a lock of another process is waited for, and is free when that is killed', async () => {
  const path = join(folder, 'other.lock')
  const child = await holder(path)
  await expect(lockFile(path, { waitMs: 50 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const waiting = lockFile(path)
  child.kill('SIGKILL')
  const free = await waiting
  free()
  free()
  await expect(withFileLock(path, async () => 'free', { waitMs: 0 })).resolves.toBe('free')
})

test('a lock is free after a function that fails, and where there is no folder, or no file can be, that is told', async () => {
  const path = join(folder, 'failing.lock')
  await expect(withFileLock(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(withFileLock(path, async () => 'free', { waitMs: 0 })).resolves.toBe('free')
  await expect(lockFile(join(folder, 'none', 'x.lock'))).rejects.toMatchObject({ code: 'ENOENT' })
  mkdirSync(join(folder, 'folder.lock'))
  await expect(lockFile(join(folder, 'folder.lock'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('a path that begins with "file:" is a path, and no address in which "mode=memory" would lock nothing', async () => {
  const name = 'file:x?mode=memory&.lock'
  await holder(name)
  await expect(lockFile(join(folder, name), { waitMs: 0 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})
