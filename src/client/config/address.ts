/** The address of a server: a URL, or the command that starts it as a child process. */

/** A server that is reached over HTTP. */
export interface HttpAddress {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** The transport of the revision 2024-11-05. @default found out by trying */
  readonly transport?: 'sse'
}

/** A server that is started as a child process. */
export interface CommandAddress {
  readonly command: string
  readonly args: readonly string[]
  /** Added to the SDK's default environment: HOME, PATH and a few others. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export type Address = HttpAddress | CommandAddress
