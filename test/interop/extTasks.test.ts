/** Tasks in both dialects for the official client of the tasks extension, with its own schemas as the judge. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  createTaskSessionFromClient,
  type TaskEnabledSession,
  type CreateTaskSessionFromClientOptions,
} from '@modelcontextprotocol/ext-tasks/client'
import { expect, onTestFinished, test } from 'vitest'
import { envelope, TAKES_TASKS, TaskCaller, VERSION } from '../fixtures/modernClient.ts'
import { listening, offerEcho, taskServer } from '../tasks/fixtures/echoServer.ts'

const ERAS = ['2026-07-28', '2025-11-25'] as const
type Era = (typeof ERAS)[number]

async function serve(): Promise<string> {
  const server = offerEcho(taskServer())
  const work = { description: 'Works.', task: 'optional', output: { type: 'object' } } as const
  server.tool('works', work, () => ({ content: [], structuredContent: { worked: true } }))
  server.tool('fails', work, () => {
    throw new Error('out of paper')
  })
  return listening(server)
}

async function session(era: Era): Promise<TaskEnabledSession> {
  const url = await serve()
  const mode = era === VERSION ? { pin: VERSION } : 'legacy'
  const client = new Client(
    { name: 'ext-tasks', version: '1' },
    { capabilities: TAKES_TASKS, versionNegotiation: { mode } },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  onTestFinished(() => client.close())
  const options: unknown = {
    endpointId: url,
    onInputRequest: () => ({ action: 'accept', content: { input: 'hello' } }),
    ...(era === VERSION && stateless(url)),
  }
  return createTaskSessionFromClient(client, options as CreateTaskSessionFromClientOptions)
}

/** The SDK does not send requests of the extension in this era, so that its host has to. */
function stateless(url: string): object {
  const wire = new TaskCaller(url)
  return {
    rawDispatch: async ({ method, params }: { method: string; params: Record<string, unknown> }) => {
      const { message } = await wire.send(method, params)
      return 'result' in message ? { kind: 'result', result: message.result } : { kind: 'error', error: message.error }
    },
    v2RequestFraming: {
      protocolVersion: VERSION,
      clientInfo: envelope()['io.modelcontextprotocol/clientInfo'],
      clientCapabilities: TAKES_TASKS,
    },
  }
}

async function outcome(era: Era, tool: string) {
  const tasks = await session(era)
  const execution = await tasks.callTool(tool, {}, { task: { preference: 'require' } })
  expect(execution.kind).toBe('task')
  const settled = await execution.settle()
  await tasks.close()
  return settled.outcome
}

test.each(ERAS)('a task that ends well is completed, at %s', async (era) => {
  expect(await outcome(era, 'works')).toMatchObject({
    status: 'completed',
    result: { structuredContent: { worked: true } },
  })
})

// In the session era questions come with `tasks/result`, which this client does not call before the end.
test('a task that asks gets its answer', async () => {
  expect(await outcome('2026-07-28', 'echo')).toMatchObject({
    status: 'completed',
    result: { content: [{ type: 'text', text: 'Echo: hello' }] },
  })
})

test.each([
  ['2026-07-28', { status: 'completed', result: { isError: true } }],
  ['2025-11-25', { status: 'failed' }],
] as const)('a tool that fails has the status of its revision, at %s', async (era, expected) => {
  expect(await outcome(era, 'fails')).toMatchObject(expected)
})
