/** A saved call in a file of its own, readable by its owner only from the moment it exists. */
import { randomUUID } from 'node:crypto'
import { access, constants, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ClientError } from '../errors.ts'
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
    save: (saved) => saying(unwritable(path), () => writeReal(path, `${JSON.stringify(saved, null, 2)}\n`)),
    load: async () => readNamed(path, await saying(unreadable(path), () => readFile(path, 'utf8'))),
    assertUsable: async ({ mayReplaceCall = false } = {}) => {
      const text = await saying(unwritable(path), () => textAt(path))
      if (text === '' || (isSaved(text) && mayReplaceCall)) return
      const sentence = isSaved(text)
        ? `${path} holds a call that is still suspended; resume it, remove the file, or name another one.`
        : `${path} holds something else than a saved call; name another file.`
      throw new ClientError('SAVED_UNUSABLE', sentence)
    },
    remove: () => saying(unremovable(path), () => removeReal(path)),
  }
}

/** Where the file really is: a link stays one, and what it leads to is written and removed. */
async function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

async function writeReal(path: string, text: string): Promise<void> {
  await writePrivateFile(await realPath(path), text)
}

async function removeReal(path: string): Promise<void> {
  const real = await realPath(path)
  await rm(real, { force: true })
  if (real !== path) await rm(path, { force: true })
}

/** Empty where there is no file, but one could be made. */
async function textAt(path: string): Promise<string> {
  const real = await realPath(path)
  await access(dirname(real), constants.W_OK)
  try {
    if (!(await stat(real)).isFile()) throw Object.assign(new Error('not a file'), { code: 'not a plain file' })
    return await readFile(real, 'utf8')
  } catch (error) {
    const isNew = error instanceof Error && 'code' in error && error.code === 'ENOENT' && /[^/\\]$/.test(path)
    if (isNew) return ''
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

/** What is wrong with a saved call is said of the file it lies in. */
function readNamed(path: string, text: string): SavedCall {
  try {
    return readSaved(text)
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    throw new ClientError(error.code, `${path}: ${error.message}`)
  }
}

type Sentence = (code: string) => string

function unreadable(path: string): Sentence {
  return (code) =>
    code === 'ENOENT'
      ? `There is no file ${path} (${code}); check its name.`
      : `The saved call at ${path} cannot be read (${code}); check the file and its rights.`
}

function unwritable(path: string): Sentence {
  return (code) => `The call cannot be saved at "${path}" (${code}); name a file in a folder that you can write to.`
}

function unremovable(path: string): Sentence {
  return (code) => `${path} cannot be removed (${code}); remove it yourself, so that its call is not sent again.`
}

async function saying<Result>(sentence: Sentence, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    throw new ClientError('SAVED_UNUSABLE', sentence(code), { cause })
  }
}

/** Puts a file in place that only its owner can read. It is whole or it is the one before, also after a crash. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const draft = join(dirname(path), `.${randomUUID()}.saving`)
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
