/** One server of the corpus: how it is started, whether it is stateless, and the proof of that. */

export type Truth = 'STATELESS' | 'STATEFUL'

/** `{port}` and `{folder}` in arguments and variables become a free port and an empty folder. */
export interface Launch {
  /** The arguments of Node.js: the program and its arguments. */
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The path of its HTTP endpoint; absent for a program on stdio. */
  readonly path?: string
  /** Headers that its clients must send. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface CorpusRequest {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/**
 * The proof of the truth. Requests are sent in one session, then the last of them alone to another instance: the same
 * reply means STATELESS, another one or none STATEFUL. Where that would need a browser or an account, the proof is a
 * line in a file of the package.
 */
export type Proof =
  | { readonly requests: readonly CorpusRequest[]; readonly era?: 'modern' }
  | { readonly package: string; readonly file: string; readonly line: string }

export interface Configuration {
  readonly name: string
  /** The version that is served, for the table. */
  readonly version: string
  readonly launch: Launch
  readonly truth: Truth
  /** The reason, as a sentence. */
  readonly because: string
  readonly proof: Proof
}

export function call(name: string, args: Readonly<Record<string, unknown>> = {}): CorpusRequest {
  return { method: 'tools/call', params: { name, arguments: args } }
}
