/** The address of a server: a URL, or the command that starts it as a child process. */

/** A server that is reached over HTTP. */
export interface HttpAddress {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** The transport of the revision 2024-11-05. @default found out by trying */
  readonly transport?: 'sse'
  readonly container?: Container
  /** The file or address of the document of an API, whose base address is `url`. Only the gateway serves it. */
  readonly openapi?: string
}

/** A server that is started as a child process. */
export interface CommandAddress {
  readonly command: string
  readonly args: readonly string[]
  /** Added to the SDK's default environment: HOME, PATH and a few others. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly container?: Container
}

/** The container settings of an entry. */
export interface Container {
  readonly image: string
  /** The `type` of an entry without a command or an address. */
  readonly type?: string
}

/** Where a server is: an address over HTTP, or a program to start. */
export type Address = HttpAddress | CommandAddress

/**
 * Why a text is not the address of a server over HTTP; undefined if it is one. A fragment is not sent to a server:
 * `https://host/mcp.json#name` would call `https://host/mcp.json`.
 */
export function httpUrlFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'is not a valid http(s) URL.'
  if (url.hash !== '') return 'has a fragment (#…); only local files have entries with names.'
  if (url.username === '' && url.password === '') return undefined
  return 'holds a user name or password; give an Authorization header or a bearer token instead.'
}
