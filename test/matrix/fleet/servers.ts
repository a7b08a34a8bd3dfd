/** The servers behind the gateways: which program, which era, which transport. */
import { fileURLToPath } from 'node:url'

export const SERVERS = ['ours', 'v2', 'v1', 'ours-stdio', 'v2-stdio', 'v1-stdio'] as const

export type ServerName = (typeof SERVERS)[number]

export interface ServerKind {
  readonly title: string
  readonly program: string
  readonly isProcess: boolean
  readonly state: 'stateless' | 'stateful'
  /** Whether its tools may run as tasks. */
  readonly hasTasks: boolean
}

const program = (name: string): string => fileURLToPath(new URL(`../programs/${name}.ts`, import.meta.url))
const [ours, sdkV1, sdkV2] = ['oursServer', 'sdkV1Server', 'sdkV2Server'].map(program) as [string, string, string]

export const KINDS: Readonly<Record<ServerName, ServerKind>> = {
  ours: { title: 'ours, HTTP', program: ours, isProcess: false, state: 'stateless', hasTasks: true },
  v2: { title: 'SDK v2, HTTP', program: sdkV2, isProcess: false, state: 'stateless', hasTasks: false },
  v1: { title: 'SDK v1, HTTP', program: sdkV1, isProcess: false, state: 'stateful', hasTasks: true },
  'ours-stdio': { title: 'ours, stdio', program: ours, isProcess: true, state: 'stateless', hasTasks: true },
  'v2-stdio': { title: 'SDK v2, stdio', program: sdkV2, isProcess: true, state: 'stateless', hasTasks: false },
  'v1-stdio': { title: 'SDK v1, stdio', program: sdkV1, isProcess: true, state: 'stateful', hasTasks: true },
}

/** How a program of this repository is started. */
export function commandLine(kind: ServerKind): { readonly command: string; readonly args: readonly string[] } {
  return { command: process.execPath, args: ['--conditions=pannier-source', kind.program] }
}
