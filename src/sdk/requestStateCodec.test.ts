/** The codec in an SDK server whose tool is written in the SDK's own explicit style. */
import {
  acceptedContent,
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  McpServer,
  type RequestStateCodec as TheirCodec,
} from '@modelcontextprotocol/server'
import { type RequestStateCodecOptions, requestStateCodec, withJournal } from 'pannier/sdk'
import { newKey, rotationSteps } from 'pannier/state'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { type Answer, connect, send, tampered } from '../../test/sdk/fixtures/clients.ts'
import { type SdkHost, startSdkHost } from '../../test/sdk/fixtures/host.ts'

interface WipeState {
  readonly step: 'confirmed'
  readonly secret: string
}

const KEYS = newKey()
const scopeForm = z.object({ scope: z.string() })
const confirmForm = z.object({ confirm: z.boolean() })
const accept = (content: Record<string, string | boolean>) => ({ action: 'accept' as const, content })
const refused = { code: -32602, message: 'Invalid or expired requestState', data: { reason: 'invalid_request_state' } }

let entered = 0

function makeServer(options: Partial<RequestStateCodecOptions> = {}): McpServer {
  const codec = requestStateCodec<WipeState>({
    keys: KEYS,
    audience: 'caches',
    principal: (ctx) => ctx.http?.authInfo?.clientId,
    ...options,
  })
  const server = new McpServer({ name: 'caches', version: '1' }, { requestState: { verify: codec.verify } })
  const about = { inputSchema: z.object({}) }
  const wipe = async (
    _: unknown,
    ctx: Parameters<typeof codec.mint>[1],
  ): Promise<CallToolResult | InputRequiredResult> => {
    entered++
    const state = ctx.mcpReq.requestState<WipeState>()
    if (state?.step === 'confirmed') {
      const scope = acceptedContent(ctx.mcpReq.inputResponses, 'scope', scopeForm)
      return { content: [{ type: 'text', text: `Wiped ${scope?.scope}, knowing ${state.secret}` }] }
    }
    if (acceptedContent(ctx.mcpReq.inputResponses, 'confirm', confirmForm)?.confirm !== true) {
      const confirm = inputRequired.elicit({ message: 'Really?', requestedSchema: confirmForm })
      return inputRequired({ inputRequests: { confirm } })
    }
    const scope = inputRequired.elicit({ message: 'Which scope?', requestedSchema: scopeForm })
    const requestState = await codec.mint({ step: 'confirmed', secret: 'xyzzy' }, ctx)
    return inputRequired({ inputRequests: { scope }, requestState })
  }
  server.registerTool('wipe', about, wipe)
  server.registerTool('wipe_too', about, wipe)
  const journaled = withJournal({ state: codec })
  server.registerTool(
    'journaled',
    about,
    journaled('journaled', async (_, ctx) =>
      JSON.stringify(await ctx.ask('scope', { message: '?', schema: scopeForm })),
    ),
  )
  return server
}

let hosts: SdkHost[] = []
const start = async (options?: Partial<RequestStateCodecOptions>): Promise<SdkHost> => {
  const host = await startSdkHost(() => makeServer(options))
  hosts.push(host)
  return host
}
afterEach(async () => {
  await Promise.all(hosts.map((host) => host.close()))
  hosts = []
})

const confirmed = { name: 'wipe', inputResponses: { confirm: accept({ confirm: true }) } }
const scoped = { name: 'wipe', inputResponses: { scope: accept({ scope: 'all' }) } }
const stateOf = ({ result }: Answer): string => result?.requestState ?? ''
const textOf = ({ result }: Answer): string => result?.content?.[0]?.text ?? ''

test.each(['modern', 'legacy'] as const)('a minted payload comes back to the handler, typed (%s)', async (era) => {
  const instances = era === 'modern' ? [await start(), await start()] : [await start()]
  const answer = (message: string) => (message === 'Really?' ? accept({ confirm: true }) : accept({ scope: 'all' }))
  const client = await connect(era, instances, { answer })
  expect((await client.callTool({ name: 'wipe' })).content).toEqual([
    { type: 'text', text: 'Wiped all, knowing xyzzy' },
  ])
  await client.close()
})

test('what is minted cannot be read by the client', async () => {
  const state = stateOf(await send(await start(), confirmed))
  expect(state).toMatch(/^[\w-]+$/)
  expect(Buffer.from(state, 'base64url').toString('latin1')).not.toContain('xyzzy')
})

test('every key of the ring opens, and a retired one does not', async () => {
  const { spread, promote, retire } = rotationSteps(KEYS)
  const requestState = stateOf(await send(await start({ keys: spread }), confirmed))
  expect(textOf(await send(await start({ keys: promote }), { ...scoped, requestState }))).toContain('xyzzy')
  expect((await send(await start({ keys: retire }), { ...scoped, requestState })).error).toMatchObject(refused)
})

describe('the SDK answers -32602 and does not enter the handler when a state', () => {
  async function expectRefused(host: SdkHost, round: Parameters<typeof send>[1], as?: string): Promise<void> {
    const before = entered
    expect((await send(host, round, as)).error).toMatchObject(refused)
    expect(entered).toBe(before)
  }

  test('was changed', async () => {
    const host = await start()
    await expectRefused(host, { ...scoped, requestState: tampered(stateOf(await send(host, confirmed))) })
  })

  test('comes from another audience', async () => {
    const requestState = stateOf(await send(await start({ audience: 'other' }), confirmed))
    await expectRefused(await start(), { ...scoped, requestState })
  })

  test('comes from another caller', async () => {
    const host = await start()
    await expectRefused(host, { ...scoped, requestState: stateOf(await send(host, confirmed, 'ann')) }, 'bob')
  })

  test('comes to another tool', async () => {
    const host = await start()
    await expectRefused(host, { ...scoped, name: 'wipe_too', requestState: stateOf(await send(host, confirmed)) })
  })

  test('comes too late', async () => {
    const requestState = stateOf(await send(await start({ ttlSeconds: 5 }), confirmed))
    await expectRefused(await start({ clock: () => Date.now() + 7000 }), { ...scoped, requestState })
  })
})

test('a minted state does not serve as a journal', async () => {
  const codec = requestStateCodec({ keys: KEYS, audience: 'x' })
  const ctx = { mcpReq: { method: 'tools/call' } } as Parameters<typeof codec.mint>[1]
  const minted = await codec.mint({ any: 1 }, ctx)
  const callback = withJournal({ state: codec })('t', async () => 'ran')
  const requestState = <T>() => minted as T
  const round = { ...ctx, mcpReq: { ...ctx.mcpReq, requestState } } as Parameters<typeof callback>[1]
  await expect(callback({}, round)).rejects.toThrow('not valid here')
})

test('a payload is any JSON but undefined', async () => {
  const codec = requestStateCodec({ keys: KEYS, audience: 'x' })
  const ctx = { mcpReq: { method: 'tools/call' } } as Parameters<typeof codec.mint>[1]
  for (const payload of [null, 0, '', 'text', [1], { a: { b: [] } }]) {
    expect(await codec.verify(await codec.mint(payload, ctx), ctx)).toEqual(payload)
  }
  await expect(codec.mint(undefined, ctx)).rejects.toMatchObject({ code: 'STATE_NOT_JSON' })
})

test('it stands in for the codec of the SDK', () => {
  const ours: TheirCodec<{ a: number }> = requestStateCodec<{ a: number }>({ keys: KEYS, audience: 'x' })
  expect(ours).toBeDefined()
})

test('a codec without keys is refused when it is made, and PANNIER_KEYS is read', () => {
  const before = process.env['PANNIER_KEYS']
  try {
    delete process.env['PANNIER_KEYS']
    expect(() => requestStateCodec({ audience: 'x' })).toThrow('set PANNIER_KEYS')
    process.env['PANNIER_KEYS'] = KEYS
    expect(requestStateCodec({ audience: 'x' })).toBeDefined()
  } finally {
    if (before === undefined) delete process.env['PANNIER_KEYS']
    else process.env['PANNIER_KEYS'] = before
  }
})
