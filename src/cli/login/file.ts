/** Stored logins by server, in one file that only its user can read. */
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writePrivateFile } from '../../client/index.ts'
import { isObject } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'

/** Client registration and tokens, as the SDK gave them. */
export interface Login {
  readonly client?: unknown
  readonly tokens?: unknown
  readonly redirectUrl?: string
}

export interface LoginFile {
  load(): Promise<Login>
  save(login: Login): Promise<void>
}

export function loginFile(path: string, serverUrl: string): LoginFile {
  const key = resourceKey(serverUrl)
  return {
    load: async () => {
      const login = (await readAll(path))[key]
      return isObject(login) ? login : {}
    },
    save: (login) =>
      oneAfterTheOther(async () => {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        await writePrivateFile(path, `${JSON.stringify({ ...(await readAll(path)), [key]: login }, null, 2)}\n`)
      }),
  }
}

let lastSave: Promise<void> = Promise.resolve()

/** Logins of several servers are in one file, and one that was saved meanwhile must not be lost. */
function oneAfterTheOther(save: () => Promise<void>): Promise<void> {
  const saved = lastSave.then(save)
  lastSave = saved.catch(() => {})
  return saved
}

/** A token belongs to a resource: origin and path, without the query. */
function resourceKey(serverUrl: string): string {
  const { origin, pathname } = new URL(serverUrl)
  return origin + pathname
}

async function readAll(path: string): Promise<Record<string, unknown>> {
  try {
    const all: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (isObject(all)) return all
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
  }
  throw new InputError(`The logins in ${path} cannot be read; remove the file to log in anew.`)
}
