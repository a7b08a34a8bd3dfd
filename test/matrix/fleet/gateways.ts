/** How gateways are started: ours, or another one by a command line. */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Connecting, Heard } from '../clients/client.ts'
import { connectSdkV1 } from '../clients/sdkV1.ts'
import { readUntil } from './processes.ts'
import { commandLine, KINDS } from './servers.ts'
import { TABLE } from '../../gateway/fixtures/table.ts'

/**
 * A command line in which words are replaced: FILE (its configuration), FOLDER (of its own), PORT, FRONT (the port of the
 * balancer), URL (of the server behind), LINE (the server's command line as one argument) and COMMAND (as several).
 */
export interface GatewayCommand {
  readonly command: string
  readonly args: readonly string[]
  /** What it gets beside PATH; the same words are replaced. */
  readonly env?: Readonly<Record<string, string>>
  /** What FILE holds. @default mcpServers, with settings of ours */
  readonly file?: (entry: ServerEntry) => unknown
  /** The path of its endpoint. @default /mcp */
  readonly path?: string
  /** Whether its endpoint is HTTP+SSE of 2024-11-05. */
  readonly isSse?: true
  /** Whether each client starts one for itself, and speaks with it on its standard input and output. */
  readonly isPerClient?: true
  /** What names of tools begin with, where SERVER is replaced. @default SERVER_ */
  readonly prefix?: string
  /** Whether it says so when it serves, as ours does. Else its port is tried. */
  readonly isOurs?: true
  /** Whether it is an instance of our own server, which says its port, and has nothing behind it. */
  readonly isServer?: true
  /** Whether it has workers, of which one is killed in its place, and which have addresses of their own. */
  readonly hasWorkers?: true
  /** Makes what DATABASE stands for, once for each fleet. */
  readonly database?: () => Promise<string>
  /** Where our own server keeps its journals: in a file, or in DATABASE. @default with the client */
  readonly store?: 'sqlite' | 'postgres'
  /** How many are behind the balancer. @default 3 before a server of the session era, else 2 */
  readonly replicas?: number
}

/** A server as files of gateways describe it. */
export type ServerEntry =
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }

/** Where clients come in. */
export type Door = Pick<Connecting, 'url' | 'isSse' | 'transport'>

/** What words of a command line stand for. */
export interface Words {
  readonly COMMAND: readonly string[]
  readonly [word: string]: string | readonly string[]
}

export interface StartedGateway {
  readonly url: string
  /** The address of its admin pages. */
  readonly admin?: string | undefined
}

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
const START_WITHIN_MS = 30_000
const TRY_MS = 100
const TRY_WITHIN_MS = 3000

export const PANNIER: GatewayCommand = {
  command: process.execPath,
  args: ['--conditions=pannier-source', main, 'gateway', 'FILE', '--port', 'PORT'],
  isOurs: true,
}

/** Our own server, several instances of it and no gateway. */
export const INSTANCES: GatewayCommand = {
  ...commandLine(KINDS.ours),
  args: [...commandLine(KINDS.ours).args, '--http'],
  prefix: '',
  isOurs: true,
  isServer: true,
  replicas: 3,
}

/** Replaces words in arguments. */
export function filledIn(args: readonly string[], { COMMAND, ...words }: Words): string[] {
  const fill = (text: string): string =>
    Object.entries(words).reduce((filled, [word, value]) => filled.replace(word, () => String(value)), text)
  return args.flatMap((arg) => (arg === 'COMMAND' ? COMMAND : [fill(arg)]))
}

/** Waits until an instance of our server has said its port. */
export function ourServer(child: ChildProcess): Promise<StartedGateway> {
  child.stderr?.resume()
  return readUntil(child.stdout, (said) => ({ url: `http://127.0.0.1:${Number(said)}` }))
}

/** Waits until ours has said where it serves, and what. */
export function ourGateway(child: ChildProcess): Promise<StartedGateway> {
  child.stdout?.resume()
  return readUntil(child.stderr, (said) => {
    const url = /Serving (http:\/\/[^/]+)/.exec(said)?.[1]
    if (url === undefined) return undefined
    const admin = /Health and servers: (http:\/\/[^/]+)/.exec(said)?.[1]
    return TABLE.test(said) ? { url, admin } : undefined
  })
}

/** Waits until a tool can be called at the address. */
export async function anyGateway(child: ChildProcess, door: Door, tool: string): Promise<StartedGateway> {
  child.stdout?.resume()
  child.stderr?.resume()
  const ended = new Promise<false>((resolve) => child.once('exit', () => resolve(false)))
  if (await Promise.race([isServing(door, tool, START_WITHIN_MS), ended])) return door
  throw new Error(`A gateway did not start at ${door.url}.`)
}

/** Whether a call of this tool comes back within this time; it is tried again and again. */
export async function isServing(door: Door, tool: string, withinMs: number): Promise<boolean> {
  for (const until = performance.now() + withinMs; performance.now() < until; await sleep(TRY_MS))
    if (await hasAnswered(door, tool)) return true
  return false
}

async function hasAnswered(door: Door, tool: string): Promise<boolean> {
  const signal = AbortSignal.timeout(TRY_WITHIN_MS)
  try {
    const client = await connectSdkV1({
      ...door,
      name: 'nobody',
      heard: new Heard(),
      timeout: TRY_WITHIN_MS,
      endsSession: true,
    })
    try {
      return (await client.call(tool, { key: 'nobody' }, { signal, timeout: TRY_WITHIN_MS })).isError !== true
    } finally {
      await client.close()
    }
  } catch {
    return false
  }
}
