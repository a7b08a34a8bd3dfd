/** A saved call in a file of its own, readable by its owner only from the moment it exists. */
import { access, constants, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ClientError } from './errors.ts'
import { writePrivateFile } from './privateFile.ts'
import { readSaved, type SavedCall } from './savedCall.ts'
import type { SavedStore } from './suspend.ts'

export interface SavedFile extends SavedStore {
  save(saved: SavedCall): Promise<void>
  load(): Promise<SavedCall>
  /** Before a call is made that may have to go here: throws where that would fail, or something would be lost. */
  assertUsable(options?: { readonly mayReplaceCall?: boolean }): Promise<void>
  /** When the call is done: what it held is nobody's business any more. */
  remove(): Promise<void>
}

/** One file for one call; a later one replaces it. The file is whole or it is not there, also after a crash. */
export function savedFile(path: string): SavedFile {
  return {
    save: (saved) => saying(path, () => writePrivateFile(path, `${JSON.stringify(saved, null, 2)}\n`)),
    load: async () => readSaved(await saying(path, () => readFile(path, 'utf8'))),
    assertUsable: async ({ mayReplaceCall = false } = {}) => {
      const text = await saying(path, () => textAt(path))
      if (text === '' || (isSaved(text) && mayReplaceCall)) return
      const sentence = isSaved(text)
        ? `${path} holds a call that is still suspended; resume it, remove the file, or name another one.`
        : `${path} holds something else than a saved call; name another file.`
      throw new ClientError('SAVED_UNUSABLE', sentence)
    },
    remove: () => saying(path, () => rm(path, { force: true })),
  }
}

/** Empty where there is no file, but one could be made. */
async function textAt(path: string): Promise<string> {
  await access(dirname(path), constants.W_OK)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

function isSaved(text: string): boolean {
  try {
    return readSaved(text) !== undefined
  } catch {
    return false
  }
}

async function saying<Result>(path: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    throw new ClientError('SAVED_UNUSABLE', `The saved call at ${path} cannot be read or written (${code}).`, { cause })
  }
}
