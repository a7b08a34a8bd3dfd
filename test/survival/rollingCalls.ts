/** The servers behind rolling gateways, and the clients of both eras that call them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createServer } from 'pannier/server'
import { newKey } from 'pannier/state'
import { z } from 'zod'
import type { Until } from '../fixtures/until.ts'
import { quickStart } from '../bundle/environment.ts'
import { sessionServer } from '../gateway/fixtures/gateways.ts'
import { quiet } from '../interop/fixtures/instances.ts'
import { begins, workTools } from './workTools.ts'

const SERVERS = ['stdio', 'http', 'ours'] as const
const KINDS = ['v1', 'v2 in a session', 'v2'] as const
const program = fileURLToPath(new URL('programs/worker.ts', import.meta.url))
const HUNG_MS = 30_000

/** What became of all calls. */
export interface CallCounts {
  calls: number
  failed: number
  /** Why calls failed, and how many of them. */
  readonly reasons: Map<string, number>
}

/** Each kind of client calls each server, `atOnce` of each, until it is over. */
export async function callUntil(
  isOver: () => boolean,
  { url, atOnce, counts }: { readonly url: string; readonly atOnce: number; readonly counts: CallCounts },
): Promise<void> {
  const callers = SERVERS.flatMap((server) =>
    KINDS.flatMap((kind) => Array.from({ length: atOnce }, (_, index) => ({ server, kind, index, url, counts }))),
  )
  await Promise.all(callers.map((caller) => repeat(isOver, caller)))
}

/** What is served: programs and sessions of the session era, and a server of the stateless era. */
export async function serversOf(until: Until, effects: string): Promise<object> {
  const ours = createServer({ name: 'ours', version: '1.0.0', keys: newKey(), logger: quiet })
  ours.tool(
    'work',
    { description: 'Takes some time.', input: z.object({ key: z.string(), ms: z.number() }) },
    async ({ key, ms }) => {
      begins(key)
      await sleep(ms)
      return 'worked'
    },
  )
  ours.tool('ask', { description: 'Asks twice.', input: z.object({ key: z.string() }) }, async ({ key }, ctx) => {
    await ctx.step('begin', () => begins(key))
    const schema = z.object({ name: z.string() })
    const first = await ctx.ask('first', { message: 'First?', schema })
    const second = await ctx.ask('second', { message: 'Second?', schema })
    return `${first.name} ${second.name}`
  })
  const { url } = await ours.listen({ drainOnTerm: false })
  until(() => ours.drain({ deadlineMs: 0 }))
  const { PATH = '' } = process.env
  const command = { command: process.execPath, args: ['--conditions=pannier-source', program] }
  const pannier = { state: 'stateful', maxProcesses: 64, maxSessions: 64 }
  return {
    stdio: { ...command, env: { PATH, ...quickStart, EFFECTS: effects }, pannier },
    http: { url: (await sessionServer(until, workTools)).url, pannier },
    ours: { url },
  }
}

interface CallingOptions {
  readonly server: (typeof SERVERS)[number]
  readonly kind: (typeof KINDS)[number]
  readonly index: number
  readonly url: string
  readonly counts: CallCounts
}

interface Caller {
  call(name: string, args: Record<string, unknown>): Promise<unknown>
  close(): Promise<void>
}

/** Calls the two tools by turns. A client whose call failed is left, as a person would do. */
async function repeat(isOver: () => boolean, options: CallingOptions): Promise<void> {
  const { server, kind, index, url, counts } = options
  let caller: Caller | undefined
  for (let turn = 0; !isOver(); turn++) {
    const tool = (turn + index) % 2 === 0 ? 'ask' : 'work'
    const key = `${kind} ${server} ${index} ${turn}`.replaceAll(' ', '-')
    counts.calls++
    try {
      caller ??= await connect(kind, url)
      const result = await caller.call(`${server}_${tool}`, { key, ...(tool === 'work' && { ms: (turn % 10) * 40 }) })
      const text = JSON.stringify(result)
      if (!text.includes(tool === 'ask' ? 'Ann Ann' : 'worked')) throw new Error(text)
    } catch (error) {
      counts.failed++
      const why = `${kind} ${server} ${tool}: ${error instanceof Error ? error.message : String(error)}`
      counts.reasons.set(why, (counts.reasons.get(why) ?? 0) + 1)
      await caller?.close().catch(() => {})
      caller = undefined
    }
  }
  await caller?.close().catch(() => {})
}

const answer = async () => {
  await sleep(Math.random() * 200) // which a person needs
  return { action: 'accept' as const, content: { name: 'Ann' } }
}

async function connect(kind: (typeof KINDS)[number], url: string): Promise<Caller> {
  const me = { name: kind, version: '1' }
  const capabilities = { elicitation: {} }
  if (kind === 'v1') {
    const client = new ClientV1(me, { capabilities })
    client.setRequestHandler(ElicitRequestSchema, answer)
    await client.connect(new HttpV1(new URL(url)))
    return {
      call: (name, args) => client.callTool({ name, arguments: args }, undefined, { timeout: HUNG_MS }),
      close: () => client.close(),
    }
  }
  const client = new ClientV2(me, { capabilities, versionNegotiation: { mode: kind === 'v2' ? 'auto' : 'legacy' } })
  client.setRequestHandler('elicitation/create', answer)
  await client.connect(new HttpV2(new URL(url)))
  return {
    call: (name, args) => client.callTool({ name, arguments: args }, { timeout: HUNG_MS }),
    close: () => client.close(),
  }
}
