/** Which jar a client has, and for which server, principal and context it keeps state. */
import { randomUUID } from 'node:crypto'
import { StateError } from '../../state/internal.ts'
import { type Jar, type JarOwner, jarServerOf, type JarStore, memoryJar, sqliteJar } from '../../state/jar/index.ts'
import type { Address } from '../config/address.ts'
import { ClientError } from '../errors.ts'
import { jar } from './layer.ts'
import type { Notice } from '../notice.ts'
import type { Layer } from '../layer/transport.ts'

/** A store, the path of a file, or none. */
export type JarChoice = JarStore | string | false

export interface OpenJarOptions {
  jar?: JarChoice
  principal?: string
  context?: string
  allowLocal?: boolean
  onNotice?: (notice: Notice) => void
}

export interface OpenJar {
  readonly layer: Layer
  /** A context that was made here ends, and a file that was opened here is closed. */
  end(): Promise<void>
}

const NONE: OpenJar = { layer: (transport) => transport, end: () => Promise.resolve() }

export function openJar(address: Address, options: OpenJarOptions): OpenJar {
  const { jar: choice, principal = 'default', context, allowLocal = false, onNotice } = options
  if (choice === false) return NONE
  const place = jarServerOf(address, { allowLocal })
  if ('refused' in place) {
    onNotice?.({ kind: 'unkept', reason: place.refused })
    return NONE
  }
  const { store, close } = storeOf(choice)
  const owner = { server: place.server, principal, context: context ?? randomUUID() }
  return {
    layer: jar(store, {
      ...owner,
      onNews: (all) => {
        for (const news of all) onNotice?.({ kind: 'jar', news })
      },
    }),
    end: async () => {
      // A store that fails now has said so before; leaving goes on.
      if (context === undefined) await endContext(store, owner).catch(() => undefined)
      close()
    },
  }
}

function storeOf(choice: JarStore | string | undefined): { store: JarStore; close: () => void } {
  if (typeof choice === 'object') return { store: choice, close: () => undefined }
  const own = choice === undefined ? memoryJar() : jarAt(choice)
  return { store: own, close: () => own.close() }
}

/** A store of the host's may throw where it should give a promise. */
async function endContext(store: JarStore, owner: JarOwner): Promise<void> {
  await store.endContext(owner)
}

function jarAt(path: string): Jar {
  try {
    return sqliteJar({ path })
  } catch (cause) {
    if (!(cause instanceof StateError)) throw cause
    throw new ClientError('JAR_UNAVAILABLE', `The jar ${path} cannot be used. ${cause.message}`, { cause })
  }
}
