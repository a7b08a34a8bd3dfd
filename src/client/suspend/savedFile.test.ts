import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import type { SavedCall } from './savedCall.ts'
import { savedFile } from './savedFile.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-saved-file-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileWith(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const gone = join(folder, 'gone.json')
const text = fileWith('text.json', 'hunter2')
const newer = fileWith('newer.json', '{ "version": 99 }')
const nowhere = join(folder, 'no', 'call.json')
const saved = { version: 1 } as SavedCall

test.each<[string, () => Promise<unknown>, string, string]>([
  [
    'to read is missing',
    () => savedFile(gone).load(),
    'SAVED_UNUSABLE',
    `There is no file ${gone} (ENOENT); check its`,
  ],
  ['to read is a folder', () => savedFile(folder).load(), 'SAVED_UNUSABLE', `${folder} cannot be read (EISDIR); check`],
  ['is no JSON', () => savedFile(text).load(), 'SAVED_INVALID', `${text}: This is not a saved call: it is not JSON.`],
  ['is of a later time', () => savedFile(newer).load(), 'SAVED_NEWER', `${newer}: The saved call has version 99`],
  ['has no folder', () => savedFile(nowhere).save(saved), 'SAVED_UNUSABLE', `cannot be saved at "${nowhere}" (ENOENT)`],
  [
    'would have none',
    () => savedFile(nowhere).assertUsable(),
    'SAVED_UNUSABLE',
    `cannot be saved at "${nowhere}" (ENOENT)`,
  ],
  ['has no name', () => savedFile('').assertUsable(), 'SAVED_UNUSABLE', 'The call cannot be saved at "" (ENOENT)'],
  [
    'could only be a folder',
    () => savedFile(`${folder}/new/`).assertUsable(),
    'SAVED_UNUSABLE',
    `cannot be saved at "${folder}/new/" (ENOENT)`,
  ],
  ['is a device', () => savedFile('/dev/null').assertUsable(), 'SAVED_UNUSABLE', '"/dev/null" (not a plain file)'],
  ['stays', () => savedFile(folder).remove(), 'SAVED_UNUSABLE', `${folder} cannot be removed (`],
])('a file that %s is named, with what to do and nothing of its content', async (_, use, code, sentence) => {
  const error = await use().catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code, message: expect.stringContaining(sentence) })
  expect((error as Error).message).not.toContain('hunter2')
})

/** The class of open files, to see what is done with them. */
async function fileHandles(): Promise<FileHandle> {
  const handle = await open(text)
  await handle.close()
  return Object.getPrototypeOf(handle) as FileHandle
}

test('a call is written, then on the disk, and its file closed, when it is saved', async () => {
  const prototype = await fileHandles()
  const log: string[] = []
  const slow = (name: string, original: (...args: unknown[]) => Promise<void>) =>
    async function (this: FileHandle, ...args: unknown[]): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve))
      await original.apply(this, args)
      log.push(name)
      // A property of each file, not of their class.
      if (name === 'sync') this.close = slow('close', this.close)
    }
  for (const name of ['writeFile', 'sync'] as const) {
    const slower = slow(name, prototype[name] as never)
    const spy = vi.spyOn(prototype, name).mockImplementation(slower)
    onTestFinished(() => spy.mockRestore())
  }
  await savedFile(join(folder, 'steps.json')).save(saved)
  expect(log).toEqual(['writeFile', 'sync', 'close'])
})

test.each(['writeFile', 'sync'] as const)('where the %s of a call fails, the one before stays', async (name) => {
  const path = join(folder, `${name}.json`)
  await savedFile(path).save(saved)
  const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
  const spy = vi.spyOn(await fileHandles(), name).mockRejectedValue(full)
  onTestFinished(() => spy.mockRestore())
  const failed = savedFile(path).save({ ...saved, version: 2 } as never)
  await expect(failed).rejects.toMatchObject({ code: 'SAVED_UNUSABLE', message: expect.stringContaining('ENOSPC') })
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(saved)
  expect(readdirSync(folder).filter((file) => file.endsWith('.saving'))).toEqual([])
})
