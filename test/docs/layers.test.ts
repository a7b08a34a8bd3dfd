import { setTimeout } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import {
  type Answerers,
  compose,
  connect,
  echo,
  echoFetch,
  type Notice,
  type Refused,
  rounds,
  tasks,
  tasksFetch,
} from 'pannier/client'
import { createServer, type Server, type ServerOptions } from 'pannier/server'
import { type JarScopeOptions, memoryJar } from 'pannier/state'
import { sqliteTasks } from 'pannier/tasks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  begin,
  callForLong,
  callPatiently,
  callPatientlyV1,
  connectProcess,
  connectStrictly,
  connectV1,
  connectV2,
  connectWithTasks,
  finish,
  keeping,
  logMethods,
  statusOf,
} from '../../docs/snippets/layers.ts'
import { readText } from '../../scripts/repository.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { sessionServer } from './fixtures/sessionServer.ts'

process.env['PANNIER_LOG_LEVEL'] = 'silent'
const said = (text: string) => ({ content: [{ type: 'text', text }] })
const name = { message: 'Who?', schema: z.object({ name: z.string() }) }
const person: Answerers = { form: () => ({ action: 'accept', content: { name: 'Ann' } }) }
const yes: Answerers = { form: () => ({ action: 'accept', content: {} }) }

async function greeter(options: Partial<ServerOptions> = {}): Promise<string> {
  const server = createServer({ name: 'greeter', version: '1.0.0', ...options })
  server.tool('greet', { description: 'Greets.' }, async (_, ctx) => `Hello, ${(await ctx.ask('name', name)).name}!`)
  server.tool('visit', { description: 'Counts.' }, (_, ctx) => {
    const { data: before = 0 } = z.number().safeParse(ctx.state.server.get('visits'))
    ctx.state.server.set('visits', before + 1)
    return `visit ${before + 1}`
  })
  return listeningAt(server)
}

/** Its tools ask, and one runs as a task. */
function printer(): Promise<string> {
  const server = createServer({ name: 'printer', version: '1.0.0', tasks: sqliteTasks({ path: storePath() }) })
  server.tool('print', { description: 'Prints.', task: 'required' }, async (_, ctx) => {
    const { name: reader } = await ctx.ask('name', name)
    ctx.progress(1, 1, 'Page 1')
    await ctx.step('page', () => setTimeout(20))
    return `Printed for ${reader}.`
  })
  server.tool('greet', { description: 'Greets.' }, async (_, ctx) => `Hello, ${(await ctx.ask('name', name)).name}!`)
  return listeningAt(server)
}

async function listeningAt(server: Server): Promise<string> {
  const { url } = await server.listen()
  onTestFinished(() => void server.drain({ deadlineMs: 0 }))
  return url
}

const closing = <Closable extends { close(): Promise<void> }>(client: Closable): Closable => {
  onTestFinished(() => client.close())
  return client
}

describe('docs/snippets/layers.ts', () => {
  test('a v2 client is asked in the era it negotiated, and in a session', async () => {
    const modernClient = closing(await connectV2(await greeter(), person))
    expect(modernClient.getProtocolEra()).toBe('modern')
    expect(await callPatiently(modernClient, 'greet')).toMatchObject(said('Hello, Ann!'))
    const legacy = closing(await connectV2((await sessionServer('call')).url, yes))
    expect(legacy.getProtocolEra()).toBe('legacy')
    expect(await callPatiently(legacy, 'ask')).toMatchObject(said('accept, state S'))
  })

  test('a v1 client is asked in a session', async () => {
    const client = closing(await connectV1(await greeter(), person))
    expect(await callPatientlyV1(client, 'greet')).toMatchObject(said('Hello, Ann!'))
    const legacy = closing(await connectV1((await sessionServer('call')).url, yes))
    expect(await callPatientlyV1(legacy, 'ask')).toMatchObject(said('accept, state S'))
  })

  test('a client gets its answers in another order, too: tasks above rounds', async () => {
    const layers = compose(tasks({ answerers: person }), rounds({ answerers: person }))
    const client = closing(new Client({ name: 'my-app', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } }))
    await client.connect(layers(new HttpV2(new URL(await printer()), { fetch: tasksFetch() })), { timeout: 5_000 })
    expect(await callPatiently(client, 'greet')).toMatchObject(said('Hello, Ann!'))
    expect(await callPatiently(client, 'print')).toMatchObject(said('Printed for Ann.'))
  })

  test('the SDK’s own time limit counts the time of a person', async () => {
    const timedOut = Promise.withResolvers<void>()
    const form = async () => {
      await timedOut.promise
      return { action: 'accept', content: { name: 'Ann' } }
    }
    const client = closing(await connectV2(await greeter(), { form }))
    const patient = callPatiently(client, 'greet')
    await expect(client.callTool({ name: 'greet' }, { timeout: 50 })).rejects.toThrow('timed out')
    timedOut.resolve()
    expect(await patient).toMatchObject(said('Hello, Ann!'))
  })

  test('a task is followed, its questions are answered, and its status is told as progress and by onStatus', async () => {
    const [told, heard]: [string[], string[]] = [[], []]
    const onStatus = (task: { status: string }, call: { name: string | undefined }) =>
      void heard.push(`${task.status} of ${call.name}`)
    const client = closing(await connectWithTasks(await printer(), { answerers: person, onStatus }))
    const result = await callForLong(client, 'print', {}, ({ status }) => told.push(status))
    expect(result).toMatchObject(said('Printed for Ann.'))
    expect(told).toContain('input_required')
    expect(told.at(-1)).toBe('completed')
    expect(heard).toEqual(told.map((status) => `${status} of print`))
  })

  test('a handle comes at once, and other clients go on from the id', async () => {
    const url = await printer()
    const beginner = closing(await connectWithTasks(url, { answerers: person, handle: true }))
    const taskId = (await begin(beginner, 'print', {})) ?? ''
    const other = closing(await connectWithTasks(url, { answerers: person }))
    await expect.poll(() => statusOf(other, taskId)).toMatch(/^input_required/)
    const { signal } = new AbortController()
    expect(await finish(other, taskId, signal)).toMatchObject(said('Printed for Ann.'))
    expect(await statusOf(other, taskId)).toMatch(/^completed/)
  })

  test('the jar keeps state where there is a name for the server, and else is not there', async () => {
    const store = memoryJar()
    const owner = { principal: 'ann', context: 'chat-1' }
    const local = await greeter()
    const visit = async (address: string, options?: JarScopeOptions) => {
      const client = closing(new Client({ name: 'my-app', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } }))
      const fetchLocal = (_: unknown, init?: RequestInit) => fetch(local, init)
      const transport = new HttpV2(new URL(address), { fetch: fetchLocal })
      await client.connect(keeping(address, store, owner, options)(transport))
      return client.callTool({ name: 'visit' })
    }
    await visit('https://greeter.example.com/mcp')
    expect(await visit('https://greeter.example.com/mcp')).toMatchObject(said('visit 2'))
    await visit(local)
    expect(await visit(local)).toMatchObject(said('visit 1'))
    await visit(local, { allowLocal: true })
    expect(await visit(local, { allowLocal: true })).toMatchObject(said('visit 2'))
  })

  test('on stdio a state is echoed beside the result, without any other seam', async () => {
    const program = `
      const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
      const info = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
      const question = { message: 'Go on?', requestedSchema: { type: 'object', properties: {} } }
      require('readline').createInterface(process.stdin).on('line', (line) => {
        const { id, method, state } = JSON.parse(line)
        if (method === 'initialize') say({ id, result: info })
        if (method === 'tools/call') say({ id: 'q', method: 'elicitation/create', params: question, state: { at: id } })
        if (id === 'q') say({ id: state.at, result: { content: [{ type: 'text', text: JSON.stringify(state) }] } })
      })`
    const client = closing(await connectProcess(process.execPath, ['--eval', program], yes))
    const { content } = await client.callTool({ name: 'ask' })
    expect(content).toMatchObject([{ text: expect.stringMatching(/^\{"at":\d+\}$/) }])
  })

  test('what a server asks on the stream of no request passes while a call is under way, or is refused', async () => {
    const allowed = closing(await connectV2((await sessionServer('no request')).url, yes))
    expect(await callPatiently(allowed, 'ask')).toMatchObject(said('accept, state S'))
    const refused: Refused[] = []
    const onRefused = (each: Refused) => void refused.push(each)
    const strict = closing(await connectStrictly((await sessionServer('no request')).url, yes, { onRefused }))
    expect(await strict.callTool({ name: 'ask' })).toMatchObject(said('-32602, state S'))
    expect(refused).toEqual([
      {
        method: 'elicitation/create',
        id: 'q',
        reason: 'It came on the GET stream, which belongs to no request of the client.',
      },
    ])
  })

  test('strictScope of connect does the same', async () => {
    const { url } = await sessionServer('no request')
    const notices: Notice[] = []
    const onNotice = (notice: Notice) => void notices.push(notice)
    const client = closing(await connect(url, { answerers: yes, strictScope: true, onNotice }))
    expect(await client.callTool({ name: 'ask' })).toMatchObject(said('-32602, state S'))
    expect(notices).toContainEqual({ kind: 'refused', refused: expect.objectContaining({ id: 'q' }) })
  })

  test('a layer of your own sees every message, where it stands', async () => {
    const [above, below]: [string[], string[]] = [[], []]
    const layers = compose(
      logMethods((line) => above.push(line)),
      rounds({ answerers: person }),
      logMethods((line) => below.push(line)),
    )
    const client = closing(new Client({ name: 'my-app', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } }))
    await client.connect(layers(new HttpV2(new URL(await greeter()))))
    await client.callTool({ name: 'greet' })
    expect(above).toEqual(['> server/discover', '> tools/call'])
    expect(below).toEqual(['> server/discover', '> tools/call', '> tools/call'])
  })
})

test('docs/reference/layers.md shows what all layers declare in a session', async () => {
  const server = await sessionServer('call')
  const owner = { principal: 'ann', context: 'chat-1' }
  const layers = compose(
    rounds({ answerers: yes }),
    keeping('https://greeter.example.com/mcp', memoryJar(), owner),
    echo(),
  )
  const client = closing(new Client({ name: 'my-app', version: '1.0.0' }))
  await client.connect(layers(new HttpV2(new URL(server.url), { fetch: echoFetch() })))
  const [, shown = ''] = /```json\n([^]*?)```/.exec(readText('docs/reference/layers.md')) ?? []
  expect(server.declared()).toEqual(JSON.parse(shown))
})
