/** A saved call in a file of its own, which only its owner can read from the moment it exists. */
import { nodeModule } from '../../protocol/index.ts'
import { errnoOf } from '../config/entry.ts'
import { ClientError } from '../errors.ts'
import { readSaved, type SavedCall } from './savedCall.ts'
import type { SavedStore } from './suspend.ts'

/** A file for one saved call. */
export interface SavedFile extends SavedStore {
  save(saved: SavedCall): Promise<void>
  load(): Promise<SavedCall>
  /** Call it before the call is made: it throws if saving would fail or overwrite a file. */
  assertUsable(options?: { readonly mayReplaceCall?: boolean }): Promise<void>
  /** For when the call is done: removes the file with its arguments and state. */
  remove(): Promise<void>
}

/** One file for one call; saving again replaces it. The file is written atomically, also with regard to crashes. */
export function savedFile(path: string): SavedFile {
  return {
    save: (saved) =>
      withFileErrors(unwritable(path), () => writePrivateFile(path, `${JSON.stringify(saved, null, 2)}\n`)),
    load: async () => readNamed(path, await withFileErrors(unreadable(path), () => files().readFile(path, 'utf8'))),
    assertUsable: async ({ mayReplaceCall = false } = {}) => {
      const text = await withFileErrors(unwritable(path), () => textAt(path))
      if (text === '' || (isSaved(text) && mayReplaceCall)) return
      const sentence = isSaved(text)
        ? `${path} holds a call that is still suspended; resume it, remove the file, or name another one.`
        : `${path} holds something else than a saved call; name another file.`
      throw new ClientError('SAVED_UNUSABLE', sentence)
    },
    remove: () => withFileErrors(unremovable(path), () => files().rm(path, { force: true })),
  }
}

const files = () => nodeModule('node:fs/promises')

/** The text of the file; empty if the file is missing and can be created. */
async function textAt(path: string): Promise<string> {
  const { access, constants, readFile, stat } = files()
  await access(nodeModule('node:path').dirname(path), constants.W_OK)
  try {
    if (!(await stat(path)).isFile()) throw Object.assign(new Error('not a file'), { code: 'not a plain file' })
    return await readFile(path, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' && /[^/\\]$/.test(path)) return ''
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

/** Errors about a saved call name its file. */
function readNamed(path: string, text: string): SavedCall {
  try {
    return readSaved(text)
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    throw new ClientError(error.code, `${path}: ${error.message}`)
  }
}

type SentenceFor = (code: string) => string

function unreadable(path: string): SentenceFor {
  return (code) =>
    code === 'ENOENT'
      ? `There is no file ${path} (${code}); check its name.`
      : `The saved call at ${path} cannot be read (${code}); check the file and its rights.`
}

function unwritable(path: string): SentenceFor {
  return (code) => `The call cannot be saved at "${path}" (${code}); name a file in a folder that you can write to.`
}

function unremovable(path: string): SentenceFor {
  return (code) => `${path} cannot be removed (${code}); remove it yourself, so that its call is not sent again.`
}

async function withFileErrors<Result>(sentence: SentenceFor, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (cause) {
    throw new ClientError('SAVED_UNUSABLE', sentence(errnoOf(cause)), { cause })
  }
}

/** Writes a file atomically that only its owner can read: after a crash there is the new file or the old one. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const { open, rename, rm } = files()
  const { dirname, join } = nodeModule('node:path')
  const draft = join(dirname(path), `.${crypto.randomUUID()}.saving`)
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
