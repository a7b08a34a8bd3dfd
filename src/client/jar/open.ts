/** Opens the jar of a client: which store, and for which server, principal and context. */
import { StateError } from '../../state/internal.ts'
import { type Jar, type JarOwner, jarServerOf, type JarStore, memoryJar, sqliteJar } from '../../state/jar/index.ts'
import type { Address } from '../config/address.ts'
import { ClientError } from '../errors.ts'
import { jar } from './layer.ts'
import type { Notice } from '../notice.ts'
import type { Layer } from '../layer/transport.ts'

/** A store, the path of a file, or false for none. */
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
  /** Ends the context if it was made here, and closes the file if it was opened here. */
  close(): Promise<void>
}

const NONE: OpenJar = { layer: (transport) => transport, close: () => Promise.resolve() }

export function openJar(address: Address, options: OpenJarOptions): OpenJar {
  const { jar: choice, principal = 'default', context, allowLocal = false, onNotice } = options
  if (choice === false) return NONE
  const named = jarServerOf(address, { allowLocal })
  if ('refused' in named) {
    onNotice?.({ kind: 'unkept', reason: named.refused })
    return NONE
  }
  const { store, close } = openStore(choice)
  const owner = { server: named.server, principal, context: context ?? crypto.randomUUID() }
  return {
    layer: jar(store, {
      ...owner,
      onNews: (all) => {
        for (const news of all) onNotice?.({ kind: 'jar', news })
      },
    }),
    close: async () => {
      // A failing store must not prevent the client from closing.
      if (context === undefined) await endContext(store, owner).catch(() => undefined)
      close()
    },
  }
}

function openStore(choice: JarStore | string | undefined): { store: JarStore; close: () => void } {
  if (typeof choice === 'object') return { store: choice, close: () => undefined }
  const own = choice === undefined ? memoryJar() : openFile(choice)
  return { store: own, close: () => own.close() }
}

/** Turns a synchronous throw of a store into a rejection. */
async function endContext(store: JarStore, owner: JarOwner): Promise<void> {
  await store.endContext(owner)
}

function openFile(path: string): Jar {
  try {
    return sqliteJar({ path })
  } catch (cause) {
    if (!(cause instanceof StateError)) throw cause
    throw new ClientError('JAR_UNAVAILABLE', `The jar ${path} cannot be used. ${cause.message}`, { cause })
  }
}
