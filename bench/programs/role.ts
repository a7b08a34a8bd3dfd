/** What a measured process does: JSON as the only argument of its command line. */
import type { StoreLocation } from './tasks/engines.ts'

export interface ServerRole {
  /** `fetch`: the handler is called in its own process. */
  transport: 'http' | 'fetch' | 'stdio'
  tool: 'echo' | 'confirm'
  /** How many echo tools to register. */
  registered: number
}

export interface ClientRole {
  sdk: 'v1' | 'v2'
  era: 'session' | 'stateless'
  /** The URL of the server, or the command that starts one. */
  server: string | readonly string[]
}

/** The SDK's client alone, the same with our layers around its transport, or the one that `connect` makes. */
export type ClientSetup = 'bare' | 'layers' | 'connect'

export interface TaskRole {
  /** The engine, prepared statements that write the same rows, or an engine whose tasks ask a question. */
  mode: 'engine' | 'statements' | 'answers'
  location: StoreLocation
}

export interface ApprovalRole {
  /** The settings of the store. */
  store: object
}

export interface GatewayRole {
  /** The URL of the server behind. */
  server?: string
  /** The servers of a gateway, as in mcp.json. */
  servers?: Readonly<Record<string, object>>
  /** The command that starts the server behind. */
  command?: readonly string[]
  /** The file of a program from npm. */
  program?: string
  /** How many processes serve. @default 1 */
  workers?: number
  /** Whether calls are logged. */
  log?: boolean
  /** The keys of gateways that know each other's tickets. @default one of its own */
  keys?: string
  /** Whether a header says who calls. */
  namesUsers?: boolean
}

export function readRole<Role extends ServerRole | ClientRole | TaskRole | GatewayRole | ApprovalRole>(): Role {
  return JSON.parse(process.argv[2] ?? '') as Role
}

export function writeRole(role: ServerRole | ClientRole | TaskRole | GatewayRole | ApprovalRole): string[] {
  return [JSON.stringify(role)]
}
