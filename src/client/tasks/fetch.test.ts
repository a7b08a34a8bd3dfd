import { expect, test } from 'vitest'
import { envelope } from '../../../test/client/fixtures/scriptedServer.ts'
import { tasksFetch } from './fetch.ts'

async function nameOf(body: unknown): Promise<string | null> {
  let name: string | null = null
  const fetch = tasksFetch(async (_, init) => {
    name = new Headers(init?.headers).get('mcp-name')
    expect(init?.body).toBe(body)
    return new Response()
  })
  await fetch('http://a.example', { method: 'POST', body: body as string, headers: { 'mcp-name': 'before' } })
  return name
}

const message = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

test.each([
  ['tasks/get', 't1', 't1'],
  ['tasks/update', 'é', '=?base64?w6k=?='],
  ['tasks/cancel', ' t1 ', '=?base64?IHQxIA==?='],
])('%s of the stateless revision names its task %j', async (method, taskId, name) => {
  expect(await nameOf(message(method, { taskId, ...envelope() }))).toBe(name)
})

test.each<[string, unknown]>([
  ['another method', message('tools/call', { name: '"tasks/get"', ...envelope() })],
  ['a session', message('tasks/get', { taskId: 't1' })],
  ['what is no JSON', '"tasks/get'],
  ['what is no text', new Blob(['"tasks/get"'])],
])('%s passes as it is', async (_, body) => {
  expect(await nameOf(body)).toBe('before')
})
