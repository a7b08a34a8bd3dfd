/** Where a server is: at the end of a URL, or behind the standard streams of a process. */

/** A server by its address over HTTP. */
export interface HttpAddress {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A server that is started as a child process. */
export interface CommandAddress {
  readonly command: string
  readonly args: readonly string[]
  /** Added to a small safe environment: HOME, PATH and the like. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export type Address = HttpAddress | CommandAddress
