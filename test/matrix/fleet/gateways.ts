/** How gateways are started: ours, or another one by a command line. */
import type { ChildProcess } from 'node:child_process'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readUntil } from './processes.ts'

/** A command line in which FILE, PORT, URL (of the server behind) and COMMAND (its whole command line) are replaced. */
export interface GatewayCommand {
  readonly command: string
  readonly args: readonly string[]
  /** The path of its endpoint. @default /mcp */
  readonly path?: string
  /** What names of tools begin with, where SERVER is replaced. @default SERVER_ */
  readonly prefix?: string
  /** Whether it says so when it serves, as ours does. Else its port is tried. */
  readonly isOurs?: true
  /** How many are behind the balancer. @default 2 */
  readonly replicas?: number
}

export interface StartedGateway {
  readonly url: string
  /** The address of its admin pages. */
  readonly admin?: string | undefined
}

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
const TRIES = 600
const TRY_MS = 50

export const PANNIER: GatewayCommand = {
  command: process.execPath,
  args: ['--conditions=pannier-source', main, 'gateway', 'FILE', '--port', '0'],
  isOurs: true,
}

/** Waits until ours has said where it serves, and what. */
export function ourGateway(child: ChildProcess, onServing: (url: string) => void): Promise<StartedGateway> {
  return readUntil(child.stderr, (said) => {
    const url = /Serving (http:\/\/[^/]+)/.exec(said)?.[1]
    if (url === undefined) return undefined
    onServing(url)
    const admin = /Health and servers: (http:\/\/[^/]+)/.exec(said)?.[1]
    return /^\/mcp: \d+ tools/m.test(said) ? { url, admin } : undefined
  })
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Waits until something answers at the address. */
export async function anyGateway(child: ChildProcess, url: string): Promise<StartedGateway> {
  child.stderr?.resume()
  for (let tried = 0; tried < TRIES && child.exitCode === null; tried++) {
    const isThere = await fetch(url, { signal: AbortSignal.timeout(1000) }).then(
      async (response) => {
        await response.body?.cancel()
        return true
      },
      () => false,
    )
    if (isThere) return { url }
    await sleep(TRY_MS)
  }
  throw new Error(`A gateway did not start at ${url}.`)
}
