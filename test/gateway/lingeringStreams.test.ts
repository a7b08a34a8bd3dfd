/** Connections of calls that are over: servers may keep them open, and each takes a socket of the gateway. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { expect, test, vi } from 'vitest'
import { testIsOver } from '../fixtures/until.ts'
import { call, connectClient, sessionServer, startGateway } from './fixtures/gateways.ts'
import { event, said, sessionScript, stream } from './fixtures/sessionScript.ts'

const PATIENCE = { timeout: 15_000 }
const CALLS = 20

test('the stream of a call that was cancelled is closed, though servers of the SDK v1 keep it open', async () => {
  let begun = 0
  const open = new Set<Socket>()
  const create = (): McpServer => {
    const server = new McpServer({ name: 'sdk', version: '1' })
    server.registerTool('wait', { description: 'Waits.' }, async () => {
      begun++
      return new Promise<never>(() => {})
    })
    return server
  }
  const { url: server } = await sessionServer(testIsOver, create, (req) => {
    const { socket, method } = req
    if (method === 'POST') open.add(socket.once('close', () => open.delete(socket)))
    else open.delete(socket) // the stream of a session stays open
  })
  const { url } = await startGateway({ a: { url: server, pannier: { state: 'stateful', timeoutSeconds: 4 } } })
  const client = await connectClient('v2', url)
  const calls = Array.from({ length: CALLS }, () => call(client, 'a_wait').catch(() => 'cancelled'))
  await Promise.all(calls)
  expect(begun).toBe(CALLS)
  await vi.waitFor(() => expect(open.size).toBeLessThan(CALLS / 4), PATIENCE)
})

test('the stream of a call that was answered is closed where its server leaves it open', async () => {
  const open = new Set<ServerResponse>()
  const server = await sessionScript({
    call({ message: { id } }, res) {
      open.add(stream(res, event({ id, result: said('went') })).once('close', () => open.delete(res)))
    },
  })
  const { url } = await startGateway({ a: { url: server.url, pannier: { state: 'stateful' } } })
  const client = await connectClient('v2', url)
  for (let calls = 0; calls < CALLS; calls++) expect(await call(client, 'a_go')).toBe('went')
  await vi.waitFor(() => expect(open.size).toBe(0), PATIENCE)
  expect(await call(client, 'a_go')).toBe('went')
})
