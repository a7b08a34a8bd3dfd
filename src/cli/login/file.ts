/** Stored logins by server, in one file that only its user can read. */
import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ClientError, writePrivateFile } from '../../client/index.ts'
import { errnoOf } from '../../client/internal.ts'
import { isObject } from '../../protocol/index.ts'
import { defaultJarPath } from '../../state/jar/index.ts'
import { isLocked, lockFile, withFileLock } from '../../state/stores/index.ts'
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
  /** A lock for the login of this server, across processes. Gives the function that releases it. */
  lock(): Promise<() => void>
}

/** Maximum wait for a flow of another process. Most take less than a second; callers wait meanwhile. */
const FLOW_MS = 10_000

/** The file of logins, beside the jar. */
export function defaultLoginsPath(): string {
  return join(dirname(defaultJarPath()), 'logins.json')
}

export function loginFile(path: string, serverUrl: string, waitMs = FLOW_MS): LoginFile {
  const key = resourceKey(serverUrl)
  return {
    load: async () => {
      const login = (await readAll(path))[key]
      return isObject(login) ? login : {}
    },
    save: async (login) => {
      await makeFolder(path)
      // One file holds the logins of several servers. The lock keeps a login that another process saves meanwhile.
      await withFileLock(`${path}.lock`, async () =>
        writePrivateFile(path, `${JSON.stringify({ ...(await readAll(path)), [key]: login }, null, 2)}\n`),
      )
    },
    lock: async () => {
      await makeFolder(path)
      const digest = createHash('sha256').update(key).digest('hex').slice(0, 16)
      return lockFile(`${path}.${digest}.lock`, { waitMs }).catch((cause: unknown) => {
        throw isLocked(cause) ? stillLoggingIn(waitMs, cause) : cause
      })
    },
  }
}

function stillLoggingIn(waitMs: number, cause: unknown): ClientError {
  const sentence = `Another process has been logging in to this server for ${waitMs / 1000} seconds; try again later.`
  return new ClientError('AUTHORIZATION_FAILED', sentence, { cause })
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
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
    if (errnoOf(error) === 'ENOENT') return {}
  }
  throw new InputError(`The logins in ${path} cannot be read; remove the file to log in again.`)
}
