/** Questions of a server on standard input and output: their page listens on this machine alone. */
import { fileURLToPath } from 'node:url'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { newKey } from 'pannier/state'
import { expect, onTestFinished, test } from 'vitest'
import { rows } from '../amount.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import {
  ASKLESS,
  type AsklessClient,
  type AsklessKind,
  textOf,
  type ToolResult,
  waitingIn,
} from './fixtures/askless.ts'

const program = fileURLToPath(new URL('fixtures/stdioServer.ts', import.meta.url))

interface Started extends AsklessClient {
  readonly pid: number
}

async function start(kind: AsklessKind, env: Record<string, string>): Promise<Started> {
  const args = ['--conditions=pannier-source', program]
  const given = {
    command: process.execPath,
    args,
    env: { ...env, PATH: process.env['PATH'] ?? '' },
    stderr: 'ignore' as const,
  }
  if (kind === 'SDK v1') {
    const client = new ClientV1({ name: 'askless', version: '1' })
    const transport = new StdioV1(given)
    await client.connect(transport)
    onTestFinished(() => client.close())
    return {
      pid: transport.pid ?? 0,
      call: async (name, input = {}) => (await client.callTool({ name, arguments: input })) as ToolResult,
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    }
  }
  const mode = kind === 'SDK v2' ? ({ pin: '2026-07-28' } as const) : 'legacy'
  const client = new ClientV2({ name: 'askless', version: '1' }, { versionNegotiation: { mode } })
  const transport = new StdioV2(given)
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    pid: transport.pid ?? 0,
    call: async (name, input = {}) => (await client.callTool({ name, arguments: input })) as ToolResult,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
  }
}

const yes = { action: 'accept', 'field.sure': 'yes' }

test.each(ASKLESS)('%s gets a link to a page of this machine, also after the process was killed', async (kind) => {
  const env = { STORE: storePath(), PANNIER_KEYS: newKey() }
  const first = await start(kind, env)
  const { ticket, questions } = waitingIn(await first.call('erase'))
  const link = questions[0]?.url ?? ''
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp\/question\//)
  expect(await (await fetch(link)).text()).toContain('Erase all?')
  const endpoint = link.slice(0, link.indexOf('/question/'))
  for (const method of ['GET', 'POST']) {
    const body = method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' : null
    const answer = await fetch(endpoint, { method, body, headers: { 'content-type': 'application/json' } })
    expect(await answer.text()).toContain('Only questions have pages here.')
  }
  process.kill(first.pid, 'SIGKILL')
  const second = await start(kind, env)
  const again = waitingIn(await second.call('continue_call', { ticket })).questions[0]?.url ?? ''
  expect(new URL(again).port).not.toBe(new URL(link).port)
  expect((await fetch(again, { method: 'POST', body: new URLSearchParams(yes) })).status).toBe(200)
  expect(textOf(await second.call('continue_call', { ticket }))).toBe('erased')
})

const ANSWERERS = ASKLESS.flatMap((kind) => [[kind, 'answer_question'] as const, [kind, 'task_answer'] as const])

test.each(rows(ANSWERERS, 2))(
  'the model of %s answers by %s, also after the process was killed',
  async (kind, tool) => {
    const env = { STORE: storePath(), PANNIER_KEYS: newKey(), ...(tool === 'task_answer' && { AS_TOOLS: 'yes' }) }
    const first = await start(kind, env)
    expect(await first.tools()).toContain(tool)
    const question = waitingIn(await first.call('measure')).questions[0]?.id
    process.kill(first.pid, 'SIGKILL')
    const second = await start(kind, env)
    expect(textOf(await second.call(tool, { question, content: { unit: 'km' } }))).toBe('42 km')
  },
)

test('the process ends with its input', async () => {
  const { call, pid } = await start('SDK v2', { STORE: storePath() })
  await call('erase')
  process.kill(pid, 'SIGTERM')
  await expect.poll(() => isAlive(pid)).toBe(false)
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
