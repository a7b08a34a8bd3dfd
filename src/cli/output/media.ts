/** Images, audio and blobs: described in a line, or saved as files. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { plainLine } from '../../client/index.ts'
import { mediaTypeOf } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'

export interface Medium {
  /** The kind in one word, for people. */
  readonly kind: string
  /** Base64. */
  readonly data: string
  readonly mimeType: string | undefined
  /** A suggestion for the file name. It comes from the server and is not trusted. */
  readonly name: string
}

/** Makes the line that represents a medium in a result. */
export type PlaceMedium = (medium: Medium) => Promise<string>

/** Describes it. */
export const describeMedium: PlaceMedium = async ({ kind, data, mimeType }) =>
  `[${kind}${mimeType === undefined ? '' : ` ${plainLine(mimeType, 60)}`}, ${sizeOf(data)}; see it with --save DIR]`

/** Saves it into a folder under a free name, and gives the path. */
export function saveMedium(folder: string): PlaceMedium {
  return async (medium) => `[${medium.kind} saved to ${await save(folder, medium)}, ${sizeOf(medium.data)}]`
}

const MAX_NAME_TRIES = 10_000

async function save(folder: string, { name, data, mimeType }: Medium): Promise<string> {
  const { stem, extension } = fileName(name, mimeType)
  for (let count = 1; count < MAX_NAME_TRIES; count++) {
    const path = join(folder, `${stem}${count === 1 ? '' : `-${count}`}${extension}`)
    const file = await create(path)
    if (file === undefined) continue
    await file.writeFile(Buffer.from(data, 'base64'))
    await file.close()
    return path
  }
  throw new InputError(`${folder} has too many files named ${stem}.`)
}

/** Undefined where the file exists: nothing is overwritten. */
async function create(path: string) {
  try {
    return await open(path, 'wx')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'EEXIST') return undefined
    throw new InputError(`Cannot write to the folder of --save (${String(code)}); it must exist.`, { cause })
  }
}

/** Keeps letters, digits and `._-`, the latter not at the start: a server cannot choose a path or a hidden file. */
function fileName(name: string, mimeType: string | undefined): { stem: string; extension: string } {
  const last = name.split(/[/\\]/).findLast((part) => part !== '') ?? ''
  const safe = last
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^[.-]+/, '')
    .slice(0, 100)
  const dot = safe.lastIndexOf('.')
  if (dot > 0) return { stem: safe.slice(0, dot), extension: safe.slice(dot) }
  return {
    stem: safe || 'content',
    extension: EXTENSIONS[mediaTypeOf(mimeType)] ?? '.bin',
  }
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/webp': '.webp',
  'image/svg+xml': '.svg',
  'audio/wav': '.wav',
  'audio/mpeg': '.mp3',
  'audio/ogg': '.ogg',
  'application/json': '.json',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'text/plain': '.txt',
  'text/html': '.html',
  'text/csv': '.csv',
}

function sizeOf(base64: string): string {
  const bytes = Buffer.byteLength(base64, 'base64')
  return bytes < 1_000
    ? `${bytes} B`
    : bytes < 1_000_000
      ? `${(bytes / 1e3).toFixed(1)} kB`
      : `${(bytes / 1e6).toFixed(1)} MB`
}
