/** One server of the corpus: how it is started, what is true of it, and what shows that it is true. */

export type Truth = 'STATELESS' | 'STATEFUL'

/** `{port}` and `{folder}` in arguments and variables become a free port and an empty folder. */
export interface Launch {
  /** What Node.js is started with: the program and its arguments. */
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The path at which it serves HTTP. Without it, it is a program on its standard streams. */
  readonly path?: string
  /** What a client of it sends along. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface Asked {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/**
 * What shows the truth. Requests are sent one after the other in one session, then the last of them alone to an instance
 * that has seen nothing: the same answer means STATELESS, another one or none STATEFUL. Where that takes a browser or an
 * account, it is a line in a file of the package.
 */
export type Proof =
  | { readonly requests: readonly Asked[]; readonly era?: 'modern' }
  | { readonly package: string; readonly file: string; readonly line: string }

export interface Configuration {
  readonly name: string
  /** The version that is served, for the table. */
  readonly version: string
  readonly launch: Launch
  readonly truth: Truth
  /** Why it is true, as a sentence. */
  readonly because: string
  readonly proof: Proof
}

export function call(name: string, args: Readonly<Record<string, unknown>> = {}): Asked {
  return { method: 'tools/call', params: { name, arguments: args } }
}
