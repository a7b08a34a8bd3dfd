import type { StateScope } from '../../protocol/index.ts'

/** Whose state: a server's, kept for a principal; in a context of the host where it is session state. */
export interface JarKey {
  readonly server: string
  readonly principal: string
  /** Undefined: server state, which outlives every context. */
  readonly context: string | undefined
}

/** A connection: the server as `jarServerOf` names it, who uses it, and the context its session state lives with. */
export interface JarOwner {
  readonly server: string
  readonly principal: string
  readonly context: string
}

/** What a result sets, as it came: two dictionaries, of which nothing is certain. */
export interface JarChange {
  readonly session?: unknown
  readonly server?: unknown
}

/**
 * Something the host should hear of. `name` is empty where no single name is meant. No value is ever part of it.
 */
export interface JarNews {
  readonly kind: 'refused' | 'evicted'
  readonly scope: StateScope
  readonly name: string
  readonly reason: string
}

/** What is kept under a name, without its value. Times are in milliseconds. */
export interface JarEntry extends JarKey {
  readonly scope: StateScope
  readonly name: string
  /** Of the name and of the value as JSON. */
  readonly bytes: number
  readonly updatedAt: number
  /** When it was last sent or set, to the minute. */
  readonly usedAt: number
}

export interface JarItem extends JarEntry {
  readonly value: unknown
}

/** Which entries; what is left out fits all. */
export interface JarFilter {
  readonly server?: string | undefined
  readonly principal?: string | undefined
  readonly name?: string | undefined
}

export interface JarContents {
  readonly session: Record<string, unknown>
  readonly server: Record<string, unknown>
}

/** Keeps for servers what they ask a client to keep (SEP-1655). Every operation happens as a whole or not at all. */
export interface JarStore {
  /** What to send: session state of the context and server state, by name. Not a promise where it is at hand. */
  read(owner: JarOwner): JarContents | Promise<JarContents>
  /** Takes what a result sets; null deletes. Gives what was refused or evicted, for the host to be told. */
  write(owner: JarOwner, change: JarChange): Promise<readonly JarNews[]>
  /** The context is over: its session state goes. */
  endContext(owner: { readonly principal: string; readonly context: string }): Promise<void>
  /** What fits, without values. @default everything */
  list(filter?: JarFilter): Promise<readonly JarEntry[]>
  /** Removes what fits, and tells how much that was. */
  clear(filter: JarFilter): Promise<number>
}

/** A store that people can look into. */
export interface Jar extends JarStore {
  /** What fits, with values. To look is not to use: nothing counts as used by it. */
  show(filter: JarFilter): Promise<readonly JarItem[]>
  /** As `clear`, and tells what it removed. */
  remove(filter: JarFilter): Promise<readonly JarEntry[]>
  close(): void
}

/** The name of a server, which no other server has; or why it has none. */
export type JarServer = { readonly server: string } | { readonly refused: string }

/** A server that is started as a process, with what decides which program that is. */
export interface JarProgram {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}
