/** What the process of a program reports to `pannier dev`, which started it. */

/** The variable with the settings of a run. The process removes the variable, so that its children do not read it. */
export const RUN_VARIABLE = 'PANNIER_DEV_RUN'

export interface RunSettings {
  /** The origin that clients use. */
  readonly origin: string
  /** For a program that has no PANNIER_KEYS: its runs share them, so a waiting call continues in the next one. */
  readonly keys: string
}

export type RunReport =
  /** The program serves at this address. */
  | { readonly kind: 'listens'; readonly url: string }
  /** A file of the program, as soon as Node reads it. */
  | { readonly kind: 'file'; readonly path: string }
  /** The program fails because another process listens at its port. */
  | { readonly kind: 'portInUse' }
  /** The program has ended without a server. */
  | { readonly kind: 'noServer' }

export function isRunReport(message: unknown): message is RunReport {
  return typeof message === 'object' && message !== null && 'kind' in message
}
