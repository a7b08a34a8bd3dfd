import type { StateScope } from '../../protocol/index.ts'

/** Whose state it is: the state of a server for a principal, and for session state in a context of the host. */
export interface JarKey {
  readonly server: string
  readonly principal: string
  /** Undefined for server state, which belongs to no context. */
  readonly context: string | undefined
}

/** A connection: the server as `jarServerOf` names it, who uses it, and the context of its session state. */
export interface JarOwner {
  /** The server, as `jarServerOf` names it. */
  readonly server: string
  /** Whose state it is. */
  readonly principal: string
  /** The scope at whose end session state is deleted, such as a conversation. */
  readonly context: string
}

/** The state that a result sets, not yet validated. */
export interface JarChange {
  readonly session?: unknown
  readonly server?: unknown
}

/** A refusal or an eviction that the host should know of. `name` is empty if it concerns no single name. No values. */
export interface JarNews {
  readonly kind: 'refused' | 'evicted'
  readonly scope: StateScope
  readonly name: string
  readonly reason: string
}

/** An entry of a jar without its value. Times are in milliseconds since 1970. */
export interface JarEntry extends JarKey {
  readonly scope: StateScope
  readonly name: string
  /** The size of the name and of the value as JSON. */
  readonly bytes: number
  readonly updatedAt: number
  /** When it was last sent or set, accurate to a minute. */
  readonly usedAt: number
}

/** An entry with its value. */
export interface JarItem extends JarEntry {
  readonly value: unknown
}

/** Selects entries. A member that is left out selects all. */
export interface JarFilter {
  readonly server?: string | undefined
  readonly principal?: string | undefined
  readonly name?: string | undefined
}

/** The state for one request: session state and server state. */
export interface JarContents {
  readonly session: Record<string, unknown>
  readonly server: Record<string, unknown>
}

/** Stores the state that servers set with a client (SEP-1655). Every operation is atomic. */
export interface JarStore {
  /** The state to send with a request: session state of the context and server state, by name. */
  read(owner: JarOwner): JarContents | Promise<JarContents>
  /** Stores the state that a result sets; null deletes a name. Returns the refused and evicted values. */
  write(owner: JarOwner, change: JarChange): Promise<readonly JarNews[]>
  /** Deletes the session state of a context. */
  endContext(owner: { readonly principal: string; readonly context: string }): Promise<void>
  /** The selected entries, without values. @default all entries */
  list(filter?: JarFilter): Promise<readonly JarEntry[]>
  /** Deletes the selected entries, and returns their number. */
  clear(filter: JarFilter): Promise<number>
}

/** A jar store whose contents people can see. */
export interface Jar extends JarStore {
  /** The selected entries, with values. It does not change their time of last use. */
  show(filter: JarFilter): Promise<readonly JarItem[]>
  /** Deletes the selected entries, and returns them. */
  remove(filter: JarFilter): Promise<readonly JarEntry[]>
  close(): void
}

/** The unique name of a server, or why state cannot be kept for it. */
export type JarServer = { readonly server: string } | { readonly refused: string }

/** A server that is started as a process: everything that decides which program that is. */
export interface JarProgram {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}
