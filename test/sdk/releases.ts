/** A server of the official SDK whose tools ask, step and use once. */
import { McpServer, type ServerContext } from '@modelcontextprotocol/server'
import { requestStateCodec, withJournal, type WithJournalOptions } from 'pannier/sdk'
import { createKeyring, memoryLedger, newKey } from 'pannier/state'
import * as z from 'zod'
import type { Answer } from './caller.ts'
import { type SdkHost, startSdkHost } from './host.ts'

export const KEYS = newKey()
const ledger = memoryLedger()
export const confirmation = z.object({ ok: z.boolean() })
const when = z.object({ day: z.enum(['mon', 'tue']) })
const nothing = z.object({})
export const accept = (content: Record<string, string | boolean>) => ({ action: 'accept' as const, content })

/** What the tools did, by name. */
export const done: string[] = []

export interface Setup extends Partial<WithJournalOptions> {
  keys?: string
  clock?: () => number
  hook?: boolean
}

function makeReleases({ keys = KEYS, clock = Date.now, hook = true, ...options }: Setup = {}): McpServer {
  const principal = (ctx: ServerContext) => ctx.http?.authInfo?.clientId
  const state = requestStateCodec({ keys: createKeyring(keys), audience: 'releases', principal, clock, ttlSeconds: 60 })
  const server = new McpServer(
    { name: 'releases', version: '1' },
    hook ? { requestState: { verify: state.verify } } : {},
  )
  const journaled = withJournal({ state, ledger, ...options })
  const about = { description: 'Deploys', inputSchema: z.object({ env: z.string() }) }
  for (const name of ['deploy', 'deploy_too']) {
    server.registerTool(
      name,
      about,
      journaled(name, async ({ env }, ctx) => {
        done.push('entered')
        const { ok } = await ctx.ask('ok', { message: `Deploy to ${env}?`, schema: confirmation })
        if (!ok) return 'Left alone.'
        const build = await ctx.step('build', () => done.push('built'))
        const { day } = await ctx.ask('day', { message: 'On which day?', schema: when })
        await ctx.once('release', () => void done.push('released'))
        return { content: [{ type: 'text', text: `${env} on ${day}, ${typeof build}` }] }
      }),
    )
  }
  server.registerTool(
    'all',
    { description: 'Asks everything there is', inputSchema: nothing },
    journaled('all', async (_, ctx) => {
      const both = await ctx.ask({
        a: { message: 'A?', schema: confirmation },
        b: { message: 'B?', schema: confirmation },
      })
      const { action } = await ctx.elicit('c', { message: 'C?', schema: confirmation })
      await ctx.visit('page', 'https://example.com/', 'Go there')
      const params = {
        messages: [{ role: 'user' as const, content: { type: 'text' as const, text: '?' } }],
        maxTokens: 9,
      }
      const { content } = await ctx.sample('model', params)
      const [root] = await ctx.roots('roots')
      await ctx.checkpoint()
      return JSON.stringify([both.a.ok, both.b.ok, action, content, root?.uri, ctx.mcpReq.method])
    }),
  )
  server.registerTool(
    'plain',
    { description: 'Asks nothing' },
    journaled('plain', async () => 'Plain.'),
  )
  server.registerTool(
    'hand_over',
    { description: 'Moves on, and has no input schema' },
    journaled('hand_over', async (_, ctx) => {
      await ctx.step('first', () => done.push('first'))
      await ctx.checkpoint()
      return `After ${done.length}.`
    }),
  )
  server.registerTool(
    'hang',
    { description: 'Does not unwind' },
    journaled('hang', async (_, ctx) => {
      await ctx.ask('ok', { message: 'Well?', schema: confirmation }).catch(() => new Promise(() => {}))
      return 'Never.'
    }),
  )
  return server
}

export const call = { name: 'deploy', arguments: { env: 'prod' } }
export const stateOf = ({ result }: Answer): string => result?.requestState ?? ''

const hosts: SdkHost[] = []

/** One more instance; `stopAll` ends them. */
export async function start(setup?: Setup): Promise<SdkHost> {
  const host = await startSdkHost(() => makeReleases(setup))
  hosts.push(host)
  return host
}

/** Ends every instance and forgets what was done. */
export async function stopAll(): Promise<void> {
  await Promise.all(hosts.splice(0).map((host) => host.close()))
  done.length = 0
}
