/**
 * A running server of the corpus. An HTTP server is started here; a program on stdio is started by each of its clients.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { endGroup, startGroup } from 'pannier/client'
import type { Launch } from './configuration.ts'

export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

export interface HttpServer {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export type Server = { readonly program: Program } | HttpServer

const START_MS = 30_000
const LAST_CHARACTERS = 500

/** Calls `use` while the server runs, then ends it and removes its folder. */
export async function withServer<T>(launch: Launch, use: (server: Server) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-corpus-'))
  const port = await freePort()
  const program = fillLaunch(launch, { '{port}': String(port), '{folder}': folder })
  try {
    if (launch.path === undefined) return await use({ program })
    const url = `http://127.0.0.1:${port}${launch.path}`
    return await withHttpServer(program, port, () => use({ url, headers: { ...launch.headers } }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function withHttpServer<T>(
  { command, args, env, cwd }: Program,
  port: number,
  use: () => Promise<T>,
): Promise<T> {
  const child = startGroup(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  const collect = (chunk: Buffer): void => void (output = `${output}${chunk.toString()}`.slice(-LAST_CHARACTERS))
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', collect)
  try {
    const deadline = performance.now() + START_MS
    // Programs of others do not signal that they listen, so the port is polled.
    while (!(await isListening(port))) {
      if (child.exitCode !== null || performance.now() > deadline) throw new Error(`It does not start: ${output}`)
      await pause(20)
    }
    return await use()
  } finally {
    await endGroup(child, 300)
  }
}

/** The same environment for every run. The home and working directory is a folder that is removed afterwards. */
function fillLaunch({ args, env = {} }: Launch, values: Readonly<Record<string, string>>): Program {
  const fill = (text: string): string => text.replace(/\{port\}|\{folder\}/g, (name) => values[name] ?? '')
  const { PATH = '' } = process.env
  const cwd = fill('{folder}')
  const given = Object.entries(env).map(([name, value]) => [name, fill(value)])
  return {
    command: process.execPath,
    args: ['--conditions=pannier-source', ...args.map(fill)],
    cwd,
    env: { PATH, HOME: cwd, PANNIER_LOG_LEVEL: 'silent', DO_NOT_TRACK: '1', ...Object.fromEntries(given) },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
