/** Servers for one test: in this process, or each in its own. All share one key ring, so any of them opens any seal. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createServer, type Logger, type Server, type ServerOptions } from 'pannier/server'
import { newKey } from 'pannier/state'
import { quickStart } from '../bundle/environment.ts'
import { offer } from './offer.ts'

export const KEYS = newKey()

export const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export interface Instance {
  readonly server: Server
  readonly url: string
  close(): void
}

export async function startHere(options: Partial<ServerOptions> = {}): Promise<Instance> {
  const server = offer(createServer({ name: 'interop', version: '1.0.0', keys: KEYS, logger: quiet, ...options }))
  const { url } = await server.listen()
  return { server, url, close: () => void server.drain({ deadlineMs: 0 }) }
}

export interface Program {
  readonly url: string
  readonly child: ChildProcess
  /** SIGKILL: no goodbye of any kind. Resolves when the process is gone. */
  kill(): Promise<void>
}

export const STDIO_PROGRAM = programPath('stdio')

/** How a test starts one of the programs. */
export function commandOf(program: string): { command: string; args: string[]; env: Record<string, string> } {
  const { PATH = '' } = process.env
  return {
    command: process.execPath,
    args: ['--conditions=pannier-source', program],
    env: { PATH, ...quickStart, PANNIER_KEYS: KEYS, PANNIER_LOG_LEVEL: 'silent' },
  }
}

export async function startProgram(): Promise<Program> {
  const { command, args, env } = commandOf(programPath('http'))
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await gone
  }
  for await (const url of createInterface(child.stdout)) return { url, child, kill }
  throw new Error('The program ended before it said where it listens.')
}

function programPath(name: string): string {
  return fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url))
}
