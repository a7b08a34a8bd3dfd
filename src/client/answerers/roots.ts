/** Answers `roots/list` with folders. */
import { realpath, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Json } from '../../protocol/index.ts'
import type { Answerer } from '../questions/answerer.ts'
import { ClientError } from '../errors.ts'
import { wrongKind } from '../questions/kinds.ts'

/** A folder that servers may know of: its path, and the name that is shown for it. */
export type Folder = string | { readonly path: string; readonly name?: string }

/** Answers with these folders, as `file://` URLs of their real paths. They must exist when a server asks. */
export function folders(list: readonly Folder[]): Answerer {
  return async ({ key, request }) => {
    if (request.method !== 'roots/list') throw wrongKind(key, 'folders()', request)
    return { roots: await Promise.all(list.map(rootOf)) }
  }
}

async function rootOf(folder: Folder): Promise<Json> {
  const { path, name } = typeof folder === 'string' ? { path: folder, name: undefined } : folder
  const real = await realFolder(path)
  return { uri: pathToFileURL(real).href, name: name ?? (basename(real) || real) }
}

async function realFolder(path: string): Promise<string> {
  try {
    const real = await realpath(path)
    if ((await stat(real)).isDirectory()) return real
  } catch (cause) {
    throw unusable(path, cause)
  }
  throw unusable(path)
}

function unusable(path: string, cause?: unknown): ClientError {
  return new ClientError('FOLDER_UNUSABLE', `${path} is not a folder that can be read; check the path.`, { cause })
}
