/** The work-item flow of SEP-1685 as it prints it: pushed questions with a state beside their parameters. */
import { connect } from 'pannier/client'
import { createServer } from 'pannier/server'
import { expect, onTestFinished, test } from 'vitest'
import { differencesOf } from '../../examples/demos/compare.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { proves } from '../proves.ts'
import { DOORS } from './fixtures/doors.ts'
import sep from '../../examples/documents/sep1685.json' with { type: 'json' }

const [first, second] = sep.rounds as [(typeof sep.rounds)[0], (typeof sep.rounds)[0]]

const ECHOES = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }

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

proves('ST-12 ST-20 ST-21', 'the work-item flow is what SEP-1685 prints, but for sealed states', async () => {
  const [one, two] = await Promise.all([instance(), instance()])
  const session = await RawSession.begin(one, { capabilities: ECHOES })
  const call = await session.open(sep.call.method, sep.call.params)
  for (const [index, { request, response }] of sep.rounds.entries()) {
    const asked = await call.next()
    const { id, state } = asked
    // The SEP leaves out jsonrpc and the id. Its first question has no state, and the second a plain one.
    expect(
      differencesOf(request, asked)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(['id', 'jsonrpc', 'state'])
    expect(state).toEqual(expect.any(String))
    session.url = index === 0 ? two : one // an answer may go to any instance
    expect((await session.answer({ id: id! }, response.result, { state })).status).toBe(202)
  }
  const paths = differencesOf(sep.answer, await call.next()).map(({ path }) => path)
  expect(paths.toSorted()).toEqual(['id', 'jsonrpc', 'result.resultType'])
  await session.end()
})

/** A session-era server that pushes the questions of the SEP, and remembers how they were answered. `state`: of the last. */
function pushing(answers: object[], state?: unknown): typeof fetch {
  const reply = (body: object) => Response.json({ jsonrpc: '2.0', ...body })
  let push: (message: object) => void = () => {}
  let call: unknown
  const ask = (): void => {
    const next = sep.rounds[answers.length]
    const stated = next === second && state !== undefined ? { state } : {}
    push(next === undefined ? { id: call, ...sep.answer } : { id: 100 + answers.length, ...next.request, ...stated })
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

async function answersOf(state?: unknown): Promise<object[]> {
  const answers: object[] = []
  const form = ({ request }: { request: { params?: unknown } }) => {
    const { message } = request.params as { message: string }
    return (message === first.request.params.message ? first : second).response.result
  }
  const client = await connect('https://work.example.com/mcp', { answerers: { form }, fetch: pushing(answers, state) })
  const { name, arguments: args } = sep.call.params
  expect(await client.callTool({ name, arguments: args })).toMatchObject(sep.answer.result)
  await client.close()
  return answers
}

proves('ST-4 ST-5 ST-6', 'our client answers what SEP-1685 prints as it prints the answers', async () => {
  const printed = sep.rounds.map(({ response }, round) => ({ jsonrpc: '2.0', id: 100 + round, ...response }))
  expect(await answersOf()).toEqual(printed)
})

for (const state of [
  '',
  ' a\u0000\u2028"b" ',
  '{"json":"in a string"}',
  { a: [1, null, { b: '' }] },
  'x'.repeat(9000),
]) {
  proves('ST-2', `our client echoes a state as it came: ${JSON.stringify(state).slice(0, 40)}`, async () => {
    const [, answer] = await answersOf(state)
    expect(answer).toHaveProperty('state', state)
  })
}

proves(
  'ST-8 ST-9',
  'a state that was changed in any place is refused, and shows nothing of what it holds',
  async () => {
    const url = await instance()
    const session = await RawSession.begin(url, { capabilities: ECHOES })
    const call = await session.open(sep.call.method, sep.call.params)
    const asked = await call.next()
    await session.answer(asked, first.response.result, { state: asked.state })
    const question = await call.next()
    const state = question.state as string
    expect(Buffer.from(state, 'base64url').toString('latin1')).not.toContain('Duplicate')
    for (let at = 0; at < state.length; at += 29) {
      const changed = state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1)
      expect((await session.answer(question, second.response.result, { state: changed })).status, `at ${at}`).toBe(400)
    }
    expect((await session.answer(question, second.response.result, { state })).status).toBe(202)
    expect((await call.next()).result).toMatchObject(sep.answer.result)
    await session.end()
  },
)

test.each(DOORS)(
  'at %s a retry with dependent_responses is told the form that replaced them',
  async (_, __, openDoor) => {
    const server = createServer({ name: 'work-items', version: '1', logger: quiet })
    server.tool('update_work_item', { description: 'Changes a work item.' }, () => 'done')
    const door = await openDoor(server, { elicitation: {} })
    onTestFinished(door.close)
    const responses = sep.rounds.map(({ response }) => response)
    const retry = { id: 3, ...sep.call, dependent_responses: { state: { workItemId: 4522 }, responses } }
    const { error } = await door.send(retry)
    expect(error).toMatchObject({ code: -32600, message: expect.stringContaining('"params.inputResponses"') })
  },
)
