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
