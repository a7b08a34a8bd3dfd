/** The operator's assumptions about session-era clients that do not declare a capability. */
import type { ClientCapabilities, Implementation } from '@modelcontextprotocol/client'
import { assertOptionNames, ECHO_CAPABILITY, type OptionNames, ROUNDS_CAPABILITY } from '../../protocol/index.ts'

/** Undeclared features of a session-era client. */
export interface Assumed {
  /** The client echoes the `state` of pushed questions (SEP-1685). @default false */
  stateEcho?: boolean
  /** The client understands `input_required` results, and sends its call again (SEP-2322). @default false */
  rounds?: boolean
}

/** A client's description of itself in `initialize`. */
export interface SessionClient {
  readonly name: string | undefined
  readonly version: string | undefined
  /** The negotiated version. */
  readonly protocolVersion: string
}

/** One assumption for all clients, or chosen by client. */
export type Assume = Assumed | ((client: SessionClient) => Assumed | undefined)

const ASSUMED: OptionNames<Assumed> = { stateEcho: true, rounds: true }

/** The capabilities of a client: those it declared, and the assumed ones. */
export type Assumption = (
  declared: ClientCapabilities,
  client: Implementation | undefined,
  protocolVersion: string,
) => ClientCapabilities

export function assumption(assume: Assume = {}): Assumption {
  if (typeof assume !== 'function') return always(assume)
  return (declared, client, protocolVersion) => {
    const { name, version } = client ?? {}
    return always(assume({ name, version, protocolVersion }) ?? {})(declared, client, protocolVersion)
  }
}

function always(assumed: Assumed): Assumption {
  assertOptionNames(assumed, ASSUMED, 'The assume option')
  const { stateEcho = false, rounds = false } = assumed
  const added = { ...(stateEcho && { [ECHO_CAPABILITY]: {} }), ...(rounds && { [ROUNDS_CAPABILITY]: {} }) }
  if (Object.keys(added).length === 0) return (declared) => declared
  return (declared) => ({ ...declared, experimental: { ...added, ...declared.experimental } })
}
