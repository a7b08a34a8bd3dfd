/** Starts the servers that need it, writes one mcp.json for all, serves it with the program, and calls each server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { endGroup, startGroup } from 'pannier/client'
import { type Server, withServer } from '../serverProcess.ts'
import {
  callDirectly,
  callInspector,
  type CallOutcome,
  callV1,
  callV2,
  connectV1,
  connectV2,
  type ToolCall,
} from './clients.ts'
import type { ServerToServe } from './servers.ts'

/** What the gateway says of a server at /servers. */
export interface ServerReport {
  readonly name: string
  readonly condition: string
  readonly why?: string
  readonly revision?: string
  readonly state?: string
  readonly isShared?: boolean
  readonly offers?: { readonly tools?: number }
}

export interface ServedServer {
  readonly server: ServerToServe
  readonly report: ServerReport | undefined
  /** Whether both clients found its tool in the list at /mcp. */
  readonly isListed: boolean
  /** The same call without the gateway. */
  readonly direct: Readonly<Record<'v1' | 'v2', CallOutcome>>
  readonly calls: Readonly<Record<'v1' | 'v2' | 'Inspector', CallOutcome>>
  /** Whether everything went through the gateway as it goes without it. */
  readonly isRight: boolean
}

interface RunningServer {
  readonly server: ServerToServe
  readonly running: Server
}

const READY_MS = 120_000
const MAIN = join(import.meta.dirname, '../../src/cli/main.ts')

export async function serveAndCall(servers: readonly ServerToServe[]) {
  return withAll(servers, [], async (all) => {
    const folder = mkdtempSync(join(tmpdir(), 'pannier-gateway-servers-'))
    const file = join(folder, 'mcp.json')
    writeFileSync(file, JSON.stringify(configOf(all), null, 2))
    const child = startGroup(process.execPath, ['--conditions=pannier-source', MAIN, 'gateway', file, '--port', '0'], {
      env: { ...process.env, PANNIER_LOG_LEVEL: 'silent' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    try {
      return await callAll(all, await addressesOf(child))
    } finally {
      await endGroup(child, 20_000)
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

/** Those over HTTP are started one after the other, and all run while `use` does. */
async function withAll<T>(
  servers: readonly ServerToServe[],
  started: readonly RunningServer[],
  use: (all: readonly RunningServer[]) => Promise<T>,
): Promise<T> {
  const [server, ...rest] = servers
  if (server === undefined) return use(started)
  return withServer(server.launch, (running) => withAll(rest, [...started, { server, running }], use))
}

function configOf(all: readonly RunningServer[]): object {
  // Processes of callers who have left are ended soon: there are many.
  const pannier = { idleSeconds: 10, startSeconds: 120 }
  const entries = all.map(({ server, running }) => {
    if (!('program' in running)) return [server.name, { url: running.url, headers: running.headers, pannier }]
    const { command, args, env, cwd } = running.program
    return [server.name, { command, args, env, cwd, pannier }]
  })
  return { mcpServers: Object.fromEntries(entries), gateway: { admin: { port: 0 } } }
}

interface GatewayAddresses {
  readonly url: string
  readonly admin: string
}

/** Reads them from what the program says. */
async function addressesOf(child: ReturnType<typeof startGroup>): Promise<GatewayAddresses> {
  let shown = ''
  child.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  for (let tries = 0; tries < 600; tries++) {
    const url = /Serving (http:\S+)/.exec(shown)?.[1]
    const admin = /Health and servers: (\S+)health/.exec(shown)?.[1]
    if (url !== undefined && admin !== undefined) return { url, admin }
    await pause(100)
  }
  throw new Error(`The gateway did not start: ${shown}`)
}

async function callAll(all: readonly RunningServer[], { url, admin }: GatewayAddresses) {
  const startedAt = performance.now()
  const reports = await reportsOf(admin)
  const startSeconds = Math.round((performance.now() - startedAt) / 100) / 10
  const [v1, v2] = [await connectV1(url), await connectV2(url)]
  const lists = [await v1.listTools(), await v2.listTools()].map(({ tools }) => tools.map(({ name }) => name))
  const served: ServedServer[] = []
  for (const [at, { server, running }] of all.entries()) {
    console.error(`${at + 1}/${all.length} ${server.name}`)
    const call: ToolCall = { name: `${server.name}_${server.tool}`, arguments: server.args }
    const direct = await callDirectly(running, { ...call, name: server.tool })
    const calls = {
      v1: await callV1(v1, call),
      v2: await callV2(v2, call),
      Inspector: await callInspector(url, call),
    }
    const isListed = lists.every((names) => names.includes(call.name))
    const isSame =
      calls.v1.kind === direct.v1.kind && calls.v2.kind === direct.v2.kind && calls.Inspector.kind === direct.v1.kind
    served.push({ server, report: reports.get(server.name), isListed, direct, calls, isRight: isListed && isSame })
  }
  await Promise.all([v1.close(), v2.close()])
  return { served, startSeconds, listed: lists[0]?.length ?? 0 }
}

/** Waits until each server is up, or has failed for good. */
async function reportsOf(admin: string): Promise<ReadonlyMap<string, ServerReport>> {
  const deadline = performance.now() + READY_MS
  for (;;) {
    const response = await fetch(`${admin}servers`)
    const { servers } = (await response.json()) as { servers: readonly ServerReport[] }
    const isReady = servers.every(({ condition, state }) => condition === 'up' && state !== 'UNKNOWN')
    if (isReady || performance.now() > deadline) return new Map(servers.map((report) => [report.name, report]))
    await pause(1000)
  }
}
