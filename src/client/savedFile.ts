/** A saved call in a file of its own, readable by its owner only from the moment it exists. */
import { readFile, rm } from 'node:fs/promises'
import { ClientError } from './errors.ts'
import { writePrivateFile } from './privateFile.ts'
import { readSaved, type SavedCall } from './savedCall.ts'
import type { SavedStore } from './suspend.ts'

export interface SavedFile extends SavedStore {
  save(saved: SavedCall): Promise<void>
  load(): Promise<SavedCall>
  /** When the call is done: what it held is nobody's business any more. */
  remove(): Promise<void>
}

/** One file for one call; a later one replaces it. The file is whole or it is not there, also after a crash. */
export function savedFile(path: string): SavedFile {
  return {
    save: (saved) => saying(path, () => writePrivateFile(path, `${JSON.stringify(saved, null, 2)}\n`)),
    load: async () => readSaved(await saying(path, () => readFile(path, 'utf8'))),
    remove: () => saying(path, () => rm(path, { force: true })),
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
