import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Server } from 'pannier/server'
import { z } from 'zod'
import { newKey } from 'pannier/state'
import { deployServer, modernOnly, offerReport, trusting } from '../../docs/snippets/eras.ts'
import { accept, Caller } from './fixtures/caller.ts'
import { Session } from './fixtures/sessionClient.ts'

process.env['PANNIER_LOG_LEVEL'] = 'silent'
const keys = newKey()
const answers = { version: accept({ version: '2.1' }), sure: accept({ sure: true }) }
const service = { service: 'web' }

/** The address of a server that lives as long as the test. */
async function listening(server: Server): Promise<string> {
  const { url } = await server.listen()
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  return url
}

describe('docs/snippets/eras.ts', () => {
  test('a client of 2026-07-28 gets one round after the other, each from another instance', async () => {
    const { asked, text } = await new Caller([deployServer(keys).fetch, deployServer(keys).fetch]).call(
      'deploy',
      service,
      answers,
    )
    expect(asked).toEqual([['version'], ['sure']])
    expect(text).toBe('Deployed web 2.1 for a client of the modern era.')
  })

  test('an official client of the session era is asked over its own request', async () => {
    const client = new Client({ name: 'docs', version: '1.0.0' }, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
      params.message.startsWith('Which') ? answers.version : answers.sure,
    )
    const transport = new StreamableHTTPClientTransport(new URL(await listening(deployServer(keys))))
    await client.connect(transport)
    onTestFinished(() => client.close())
    const { content } = await client.callTool({ name: 'deploy', arguments: service })
    expect(content).toEqual([{ type: 'text', text: 'Deployed web 2.1 for a client of the legacy era.' }])
  })

  test('a session begun at one instance is served by another', async () => {
    const [first, second] = [await listening(deployServer(keys)), await listening(deployServer(keys))]
    const session = await Session.begin(first, { elicitation: {} })
    const tools = await session.at(second).request('tools/list', {})
    expect(tools.result['tools']).toHaveLength(1)
  })

  test('dev.pannier/rounds brings input_required results into a session', async () => {
    const url = await listening(deployServer(keys))
    const experimental = { 'dev.pannier/rounds': {} }
    const session = await Session.begin(url, { elicitation: {}, experimental })
    const { result } = await session.request('tools/call', { name: 'deploy', arguments: service })
    expect(result['resultType']).toBe('input_required')
    expect(Object.keys(result['inputRequests'] as object)).toEqual(['version'])
  })

  test('a state goes to an agent that is known to echo it, although it declares nothing', async () => {
    const server = trusting(keys).tool('greet', { description: 'Greets.' }, async (_, ctx) => {
      const { name } = await ctx.ask('name', { message: 'Who?', schema: z.object({ name: z.string() }) })
      return `Hello ${name}`
    })
    const url = await listening(server)
    const asked = async (version: string) => {
      const session = await Session.begin(url, { elicitation: {} }, { name: 'our-agent', version })
      const stream = await session.stream('tools/call', { name: 'greet' })
      return 'state' in (await stream.next()).message
    }
    expect([await asked('2.9.0'), await asked('3.0.1')]).toEqual([false, true])
  })

  test('dev.pannier/state-echo lets another instance go on from a pushed question', async () => {
    const [first, second] = [await listening(deployServer(keys)), await listening(deployServer(keys))]
    const experimental = { 'dev.pannier/state-echo': {} }
    const session = await Session.begin(first, { elicitation: {}, experimental })
    const stream = await session.stream('tools/call', { name: 'deploy', arguments: service })
    const asked = await stream.next()
    expect(asked.message).toMatchObject({ method: 'elicitation/create', state: expect.any(String) })
    await stream.leave()

    const there = session.at(second)
    const resumed = await there.resume(asked.id)
    await there.answer(asked.message, answers.version)
    const sure = await resumed.next()
    expect(sure.message).toMatchObject({ params: { message: 'Deploy web 2.1 now?' } })
    await there.answer(sure.message, answers.sure)
    const done = await resumed.next()
    expect(done.message).toMatchObject({
      result: { content: [{ text: 'Deployed web 2.1 for a client of the legacy era.' }] },
    })
  })

  test('a client of 2025-11-25 that was hung up on comes back for the result', async () => {
    const work = Promise.withResolvers<string>()
    const url = await listening(offerReport(deployServer(keys), () => work.promise))
    const session = await Session.begin(url, {})
    const stream = await session.stream('tools/call', { name: 'report' })
    const lastId = await stream.ended()
    work.resolve('A long report.')
    const { message } = await (await session.resume(lastId)).next()
    expect(message).toMatchObject({ result: { content: [{ text: 'A long report.' }] } })
  })

  test('a server without the session era says which version it speaks', async () => {
    const response = await modernOnly.fetch(
      new Request('http://server.example/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'docs', version: '1' } },
        }),
      }),
    )
    expect(await response.json()).toMatchObject({ error: { code: -32022, data: { supported: ['2026-07-28'] } } })
  })
})
