/** A message between two of clients, gateways and servers that is about to go on. */
export const WAYS = ['client ↔ gateway', 'gateway ↔ gateway', 'gateway ↔ server'] as const

export type Way = (typeof WAYS)[number]

export interface Passing {
  readonly way: Way
  /** Where the request goes, or went: an address, or the id of a process. */
  readonly target: string
  readonly what: 'request' | 'response' | 'part'
  readonly body: string
  /** Whose request it is, or was. */
  readonly caller?: string | undefined
  /** Whether it is the first part of a stream. */
  readonly isFirst?: boolean | undefined
  /** Whether it belongs to a stream that a peer opened by itself, for what belongs to no request. */
  readonly isGet?: boolean
}

/** What becomes of a message: the connection before or behind the tap is cut, a request is delivered twice, or it goes on. */
export type Fate = 'cut inbound' | 'cut outbound' | 'twice' | undefined

/** Whoever is told may hold the message back for a while. */
export type OnPassing = (passing: Passing) => Promise<Fate> | undefined
