import type { ClientCapabilities, Implementation, LoggingLevel } from '@modelcontextprotocol/client'
import type { Era } from '../../protocol/index.ts'

/** The other side of one request: what it said of itself, in its envelope or when its session began. */
export interface Peer {
  readonly era: Era
  readonly version: string
  readonly client: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** Log messages from this level up are wanted; undefined wants none. */
  readonly logLevel: LoggingLevel | undefined
  /** The session-era session, where there is one. */
  readonly session: string | undefined
  /** Whether questions travel as `input_required` results; else they are pushed over the live connection. */
  readonly rounds: boolean
}
