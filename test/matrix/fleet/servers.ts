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
  /** Whether it finishes its calls before it ends when it is stopped. */
  readonly isOurs: boolean
}

const program = (name: string): string => fileURLToPath(new URL(`../programs/${name}.ts`, import.meta.url))
const [ours, sdkV1, sdkV2] = ['oursServer', 'sdkV1Server', 'sdkV2Server'].map(program) as [string, string, string]

const stateless = { state: 'stateless', hasTasks: false, isOurs: false } as const
const ofOurs = { ...stateless, program: ours, hasTasks: true, isOurs: true } as const
const ofV2 = { ...stateless, program: sdkV2 } as const
const ofV1 = { program: sdkV1, state: 'stateful', hasTasks: true, isOurs: false } as const

export const KINDS: Readonly<Record<ServerName, ServerKind>> = {
  ours: { ...ofOurs, title: 'ours, HTTP', isProcess: false },
  v2: { ...ofV2, title: 'SDK v2, HTTP', isProcess: false },
  v1: { ...ofV1, title: 'SDK v1, HTTP', isProcess: false },
  'ours-stdio': { ...ofOurs, title: 'ours, stdio', isProcess: true },
  'v2-stdio': { ...ofV2, title: 'SDK v2, stdio', isProcess: true },
  'v1-stdio': { ...ofV1, title: 'SDK v1, stdio', isProcess: true },
}

/** How a program of this repository is started. */
export function commandLine(kind: ServerKind): { readonly command: string; readonly args: readonly string[] } {
  return { command: process.execPath, args: ['--conditions=pannier-source', kind.program] }
}
