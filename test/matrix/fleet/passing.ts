/** A message between two of clients, gateways and servers that is about to go on. */
export const WAYS = ['client ↔ gateway', 'gateway ↔ gateway', 'gateway ↔ server'] as const

export type Way = (typeof WAYS)[number]

export interface Passing {
  readonly way: Way
  /** Where the request goes, or went: an address, or the id of a process. */
  readonly target: string
  readonly what: 'request' | 'response' | 'part'
  readonly body: string
}

/** Whoever is told may hold the message back for a while. */
export type OnPassing = (passing: Passing) => Promise<void> | undefined
