/** The work-item flow of SEP-1685 as it prints it: pushed questions with a state beside their parameters. */
import { connect } from 'pannier/client'
import { createServer } from 'pannier/server'
import { expect, onTestFinished } from 'vitest'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { proves } from '../proves.ts'
import sep from './fixtures/sep1685.json' with { type: 'json' }

const [first, second] = sep.rounds as [(typeof sep.rounds)[0], (typeof sep.rounds)[0]]

/** One of several instances that have the tool of the SEP. */
async function instance(): Promise<string> {
  const server = createServer({ name: 'work-items', version: '1', keys: KEYS, logger: quiet })
  server.tool(
    'update_work_item',
    { description: 'Changes a work item.', input: { type: 'object' } },
    async (args, ctx) => {
      const { message, requestedSchema: schema } = first.request.params
      const { resolution } = await ctx.ask('resolution', { message, schema })
      const again = second.request.params
      const { duplicateOfId } = await ctx.ask('duplicate_of', { message: again.message, schema: again.requestedSchema })
      return {
        content: [
          {
            type: 'text',
            text: `Bug #${String(args['workItemId'])} resolved as ${String(resolution)} of Bug #${String(duplicateOfId)}. State set to Resolved and duplicate link created.`,
          },
        ],
      }
    },
  )
  const { url, close } = await server.listen({ drainOnTerm: false })
  onTestFinished(() => void close())
  return url
}

proves('ST-12 ST-20 ST-21', 'the work-item flow is message by message what SEP-1685 prints', async () => {
  const [one, two] = await Promise.all([instance(), instance()])
  const capabilities = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }
  const session = await RawSession.begin(one, { capabilities })
  const call = await session.open(sep.call.method, sep.call.params)
  for (const [index, { request, response }] of sep.rounds.entries()) {
    const { id, state, ...asked } = await call.next()
    // The SEP's state is plain; ours is sealed, and a string.
    const { state: _, ...printed } = request
    expect(asked).toEqual({ jsonrpc: '2.0', ...printed })
    expect(state).toEqual(expect.any(String))
    session.url = index === 0 ? two : one // an answer may go to any instance
    expect((await session.answer({ id: id! }, response.result, { state })).status).toBe(202)
  }
  const { result } = await call.next()
  expect(result).toMatchObject(sep.answer.result)
  await session.end()
})

/** A session-era server that pushes the questions of the SEP, and remembers how they were answered. */
function pushing(answers: object[]): typeof fetch {
  const reply = (body: object) => Response.json({ jsonrpc: '2.0', ...body })
  let push: (message: object) => void = () => {}
  let call: unknown
  const ask = (): void => {
    const next = sep.rounds[answers.length]
    push(next === undefined ? { id: call, ...sep.answer } : { id: 100 + answers.length, ...next.request })
  }
  return async (_, init) => {
    if (init?.method !== 'POST') return new Response(null, { status: 405 })
    const { id, method, ...message } = JSON.parse(init.body as string) as { id?: unknown; method?: string }
    if (method === 'initialize') {
      const serverInfo = { name: 'work-items', version: '1' }
      return reply({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } })
    }
    if (method === 'tools/call') {
      call = id
      const body = new ReadableStream<Uint8Array>({
        start(stream) {
          push = (said) =>
            stream.enqueue(new TextEncoder().encode(`data: ${JSON.stringify({ jsonrpc: '2.0', ...said })}\n\n`))
          ask()
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    }
    if (method !== undefined)
      return id === undefined
        ? new Response(null, { status: 202 })
        : reply({ id, error: { code: -32601, message: 'Unknown method.' } })
    answers.push({ id, ...message })
    ask()
    return new Response(null, { status: 202 })
  }
}

proves('ST-4 ST-5 ST-6', 'our client answers what SEP-1685 prints as it prints the answers', async () => {
  const answers: object[] = []
  const form = ({ request }: { request: { params?: unknown } }) => {
    const { message } = request.params as { message: string }
    return (message === first.request.params.message ? first : second).response.result
  }
  const client = await connect('https://work.example.com/mcp', { answerers: { form }, fetch: pushing(answers) })
  const { name, arguments: args } = sep.call.params
  expect(await client.callTool({ name, arguments: args })).toMatchObject(sep.answer.result)
  expect(answers).toEqual(sep.rounds.map(({ response }, round) => ({ jsonrpc: '2.0', id: 100 + round, ...response })))
  await client.close()
})
