/** Tasks of the revision 2025-11-25 as published, with the SDK v1's own server of them, under both clients. */
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import {
  answerTask,
  type Asked,
  compose,
  getTask,
  rounds,
  scope,
  type Task,
  tasks,
  watchTask,
  cancelTask,
  type Layer,
  taskOf,
} from 'pannier/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { proves } from '../../proves.ts'
import type { Loose } from '../fixtures/fakeTransport.ts'
import { sdkTaskServer } from '../fixtures/servers/tasksSdkV1.ts'
import { accept, type AnyClient, callTool, text } from '../fixtures/clients.ts'

const me = { name: 'sdk-tasks-test', version: '1' }
const clients: [string, (capabilities: object) => AnyClient][] = [
  ['v1', (capabilities) => new ClientV1(me, { capabilities }) as unknown as AnyClient],
  ['v2', (capabilities) => new ClientV2(me, { capabilities, versionNegotiation: { mode: 'auto' } })],
]

describe.each(clients)('with the client of %s', (_, make) => {
  async function connect(layer: Layer, capabilities: object = {}): Promise<AnyClient> {
    const client = make(capabilities)
    onTestFinished(() => client.close())
    await (client as Loose).connect(compose(layer, scope())(sdkTaskServer()))
    return client
  }

  const asked: Asked[] = []
  const answerers = { form: (question: Asked) => (asked.push(question), accept({ name: 'Ann' })) }

  test('a question that the server pushes for its task is answered, and the caller gets the result', async () => {
    asked.length = 0
    const client = await connect(compose(rounds({ answerers }), tasks({ answerers })))
    expect(await callTool(client, 'greet')).toMatchObject(text('Dear Ann'))
    expect(asked).toMatchObject([{ call: { method: 'tools/call', name: 'greet' }, server: { name: 'sdk-tasks' } }])
  })

  test('the layer alone answers what belongs to its tasks', async () => {
    const client = await connect(tasks({ answerers }))
    expect(await callTool(client, 'greet')).toMatchObject(text('Dear Ann'))
  })

  test('the client’s own handler answers where there is no answerer', async () => {
    const client = await connect(tasks(), { elicitation: {} })
    const answer = () => accept({ name: 'Bo' })
    const { setRequestHandler } = client as Loose
    const method = client.getProtocolEra === undefined ? ElicitRequestSchema : 'elicitation/create'
    Reflect.apply(setRequestHandler, client, [method, answer])
    expect(await callTool(client, 'greet')).toMatchObject(text('Dear Bo'))
  })

  test('tasks end as their server says, after a list as before', async () => {
    const statuses: string[] = []
    const onStatus = ({ status, statusMessage }: Task) => void statuses.push(`${status} ${statusMessage ?? ''}`.trim())
    const client = await connect(tasks({ onStatus }))
    expect(await callTool(client, 'quick')).toMatchObject(text('quick'))
    expect([statuses[0], statuses.at(-1)]).toEqual([expect.stringContaining('working'), 'completed nearly there'])
    await client.listTools()
    expect(await callTool(client, 'fails')).toMatchObject({ isError: true, ...text('Out of paint.') })
    expect(await callTool(client, 'plain')).toMatchObject(text('at once'))
  })

  proves('MRTR-32', 'a call that is given up cancels its task', async () => {
    const ids: string[] = []
    const client = await connect(tasks({ onStatus: ({ taskId }) => void ids.push(taskId) }))
    const abort = new AbortController()
    const call = callTool(client, 'endless', {}, { signal: abort.signal })
    await expect.poll(() => ids.length).toBe(1)
    abort.abort()
    await expect(call).rejects.toThrow()
    await expect.poll(() => getTask(client as Loose, ids[0]!)).toMatchObject({ status: 'cancelled' })
  })

  test('a handle is gone on with', async () => {
    const client = (await connect(compose(rounds({ answerers }), tasks({ answerers, handle: true })))) as Loose
    const { taskId } = taskOf(await callTool(client, 'greet'))!
    await expect.poll(() => getTask(client, taskId)).toMatchObject({ status: 'input_required' })
    await expect(answerTask(client, taskId, { whom: {} })).rejects.toMatchObject({ code: 'TASK_UNANSWERABLE' })
    expect(await watchTask(client, taskId)).toMatchObject(text('Dear Ann'))
    await expect(cancelTask(client, taskId)).rejects.toMatchObject({ code: -32602 })
  })
})
