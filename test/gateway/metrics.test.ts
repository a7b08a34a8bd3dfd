/** What Prometheus reads of a gateway. */
import { metrics } from '@opentelemetry/api'
import { serveOperators } from '../../docs/snippets/gateway.ts'
import { afterEach, expect, test, vi } from 'vitest'
import { call as callByHand } from '../fixtures/modernClient.ts'
import { call, connectClient, modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'
import { sure } from './fixtures/parkedRounds.ts'

const ADMIN = { gateway: { admin: { port: 0, token: 'a-token' } } }
const headers = { authorization: 'Bearer a-token' }

afterEach(() => metrics.disable())

async function measured(servers: object) {
  const { gateway, url } = await startGateway(servers, {}, ADMIN)
  const admin = await serveOperators(gateway)
  const scrape = async (): Promise<string> => {
    const response = await fetch(`${admin}metrics`, { headers })
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4')
    return response.text()
  }
  return { gateway, url, scrape, page: `${admin}metrics` }
}

test('calls, durations, links, lists and servers are measured by server, tool and outcome, for who has the token', async () => {
  const servers = {
    ours: { url: (await modernServer()).url },
    http: { url: (await sessionServer()).url, pannier: { tools: { deny: ['die'] } } },
    gone: { url: 'http://127.0.0.1:1/mcp' },
  }
  const { url, scrape, page, gateway } = await measured(servers)
  expect((await fetch(page)).status).toBe(401)
  const client = await connectClient('v2', url)
  await call(client, 'ours_add', { a: 1, b: 2 })
  await call(client, 'ours_add', { a: 1, b: 2 })
  await call(client, 'http_fail')
  await call(client, 'http_confirm')
  await expect(call(client, 'gone_invented')).rejects.toThrow('gone')
  const text = await scrape()
  for (const line of [
    'pannier_gateway_calls_total{server="ours",method="tools/call",tool="add",outcome="complete"} 2',
    'pannier_gateway_calls_total{server="http",method="tools/call",tool="fail",outcome="failed"} 1',
    'pannier_gateway_calls_total{server="http",method="tools/call",tool="confirm",outcome="asked"} 2',
    'pannier_gateway_calls_total{server="gone",method="tools/call",outcome="failed"} 1',
    'pannier_gateway_call_duration_count{server="ours",method="tools/call",tool="add"} 2',
    'pannier_gateway_server_up{server="ours"} 1',
    'pannier_gateway_server_up{server="gone"} 0',
    'pannier_gateway_calls_in_flight{server="ours"} 0',
    'pannier_gateway_links{server="http",kind="connection"} 2',
    'pannier_gateway_tools{server="ours"} 3',
    'pannier_gateway_calls_parked 0', // its end is kept for a client that asks again, and waits for nobody
    'mcp_server_operation_duration_count{mcp_method_name="tools/call"',
  ])
    expect(text).toContain(line)
  expect(text).toMatch(/pannier_gateway_list_age\{server="ours"\} \d/)
  expect(text).not.toContain('invented')
  expect(text).not.toContain('gen_ai_tool_name')
  await gateway.drain({ deadlineMs: 0 })
})

test('calls under way, and those that wait for their callers, are counted while they do', async () => {
  const { url: address, states } = await modernServer()
  const { url, scrape, gateway } = await measured({
    ours: { url: address },
    http: { url: (await sessionServer()).url, pannier: { state: 'stateful' } },
  })
  const cancel = new AbortController()
  const running = call(await connectClient('v1', url), 'ours_wait', {}, { signal: cancel.signal }).catch(() => {})
  await vi.waitFor(() => expect(states).toEqual(['waiting']))
  const { message: asked } = await callByHand(url, 'http_confirm')
  const during = await scrape()
  expect(during).toContain('pannier_gateway_calls_in_flight{server="ours"} 1')
  expect(during).toContain('pannier_gateway_calls_in_flight{server="http"} 1')
  expect(during).toContain('pannier_gateway_calls_parked 1')
  cancel.abort()
  await running
  const { message: again } = await callByHand(url, 'http_confirm', {}, { params: sure(asked.result) })
  await callByHand(url, 'http_confirm', {}, { params: sure(again.result) })
  await vi.waitFor(async () => {
    const after = await scrape()
    expect(after).toContain('pannier_gateway_calls_in_flight{server="ours"} 0')
    expect(after).toContain('pannier_gateway_calls_in_flight{server="http"} 0')
    expect(after).toContain('pannier_gateway_calls_parked 0')
  })
  await gateway.drain({ deadlineMs: 0 })
})

test('without the exporter the page says what to install', async () => {
  const { gateway } = await startGateway({}, {}, ADMIN)
  const admin = await gateway.listenAdmin()
  const response = await fetch(`${admin?.url}metrics`, { headers })
  expect(response.status).toBe(501)
  expect(await response.text()).toContain('@opentelemetry/exporter-prometheus')
})
