/** Calls through the gateway that wait for people: approvals by rule, and questions for clients that cannot be asked. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { quickStart } from '../bundle/environment.ts'
import { ASKLESS, askless, principalOf, textOf, type ToolResult, waitingIn } from '../questions/fixtures/askless.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { MANAGERS, newStore, startAsking, startBank, STORES } from './fixtures/bank.ts'
import { sessionServer, stdioEntry } from './fixtures/gateways.ts'

const mia = principalOf('mia')
const stateless = { pannier: { state: 'stateless' } }

describe.each(STORES)('with %s', (store) => {
  test.each(ASKLESS)('a call of %s is sent once a manager has approved it, at another gateway', async (kind) => {
    const { url: bank, paid } = await startBank()
    const settings = { ...(await newStore(store)), approve: [MANAGERS] }
    const servers = { bank: { url: bank, ...stateless } }
    const [first, second] = [await startAsking(servers, settings), await startAsking(servers, settings)]
    const ann = await askless(kind, first.url, 'ann')
    const waiting = await ann.call('bank_pay', { amount: 5, to: 'bo' })
    expect(textOf(waiting)).toContain('It waits for role:manager to answer: Approve a call of the tool "pay"')
    expect(textOf(waiting)).toContain('Caller: "ann"\nArguments: {"amount":5,"to":"bo"}')
    const { ticket } = waitingIn(waiting)
    expect(await ann.tools()).toContain('continue_call')
    expect((await second.gateway.questions.open({ for: principalOf('bob') })).questions).toEqual([])
    const { questions } = await second.gateway.questions.open({ for: mia })
    expect(questions).toMatchObject([{ tool: 'bank_pay', caller: 'ann', by: ['role:manager'], fourEyes: true }])
    expect(paid).toEqual([])
    await second.gateway.questions.answer(questions[0]!.id, { approve: true }, mia)
    const other = await askless(kind, second.url, 'ann')
    expect(textOf(await other.call('continue_call', { ticket }))).toBe('paid 5')
    expect(paid).toEqual([5])
    expect(textOf(await ann.call('bank_pay', { amount: 5, to: 'bo' }))).toContain('It waits for role:manager')
    expect(textOf(await ann.call('bank_balance'))).toBe('1')
  })

  test.each(ASKLESS)('a question of a server in either era is answered on a page for %s', async (kind) => {
    const { url: bank, paid } = await startBank()
    const { url: http } = await sessionServer()
    const servers = { bank: { url: bank, ...stateless }, http: { url: http }, program: stdioEntry() }
    const { url, gateway } = await startAsking(servers, await newStore(store))
    const ann = await askless(kind, url, 'ann')
    const answer = async (waiting: Awaited<ReturnType<typeof ann.call>>) => {
      const { questions } = waitingIn(waiting)
      const form = new URLSearchParams({ action: 'accept', 'field.sure': 'yes' })
      const page = await fetch(questions[0]?.url ?? '', { method: 'POST', body: form })
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Your answer was sent')])
    }
    const asked = await ann.call('bank_transfer', { amount: 7 })
    expect(textOf(asked)).toContain('The question: Transfer 7?\nAnswer it here: ')
    expect((await gateway.questions.open({ for: principalOf('ann') })).questions).toMatchObject([
      { tool: 'bank_transfer' },
    ])
    await answer(asked)
    expect(textOf(await ann.call('bank_transfer', { amount: 7 }))).toBe('transferred 7')
    expect(paid).toEqual([7])
    for (const tool of ['http_confirm', 'program_confirm']) {
      const first = await ann.call(tool)
      expect(textOf(first)).toContain('The question: Sure?')
      await answer(first)
      const second = await ann.call('continue_call', { ticket: waitingIn(first).ticket })
      expect(textOf(second)).toContain('The question: Really?')
      await answer(second)
      expect(textOf(await ann.call(tool))).toBe('accept true, accept true')
    }
  })
})

test.each([
  ['SDK v1', () => new ClientV1({ name: 'desktop', version: '1' })],
  ['SDK v2', () => new ClientV2({ name: 'desktop', version: '1' })],
])('on standard input and output, %s gets the link to a page on loopback', async (_, create) => {
  const { url: bank } = await startBank()
  const store = storePath()
  const file = join(dirname(store), 'mcp.json')
  const gateway = { admin: false, store: 'stored.db' }
  writeFileSync(file, JSON.stringify({ mcpServers: { bank: { url: bank, ...stateless } }, gateway }))
  const args = ['--conditions=pannier-source', 'src/cli/main.ts', 'gateway', file, '--stdio']
  const env = { PATH: process.env['PATH'] ?? '', ...quickStart, PANNIER_LOG_LEVEL: 'silent' }
  const client = create()
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env }))
  onTestFinished(() => client.close())
  const waiting = (await client.callTool({ name: 'bank_transfer', arguments: { amount: 8 } })) as ToolResult
  const { ticket, questions } = waitingIn(waiting)
  expect(questions[0]?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp\/question\//)
  const form = new URLSearchParams({ action: 'accept', 'field.sure': 'yes' })
  expect((await fetch(questions[0]?.url ?? '', { method: 'POST', body: form })).status).toBe(200)
  expect((await fetch(new URL('/mcp', questions[0]?.url))).status).toBe(404)
  const result = await client.callTool({ name: 'continue_call', arguments: { ticket } })
  expect(textOf(result as ToolResult)).toBe('transferred 8')
})
