import { metrics } from '@opentelemetry/api'
import { afterEach, expect, test } from 'vitest'
import { GatewayMetrics } from './metrics.ts'
import { prometheusMetrics } from './prometheus.ts'

const NOTHING = { servers: [], parked: 0 }
const ended = { method: 'tools/call', outcome: 'complete', seconds: 0.1 } as const

afterEach(() => metrics.disable())

function linesOf(text: string | undefined, name: string): string[] {
  return (text ?? '').split('\n').filter((line) => line.startsWith(`${name}{`))
}

test('a server that invents names of tools gets no more than 500 of them told apart', async () => {
  const gateway = new GatewayMetrics(() => NOTHING)
  const read = await prometheusMetrics()
  for (let at = 0; at < 510; at++)
    gateway.ended({ ...ended, target: { server: 'many', name: `tool_${at}`, isListed: true } })
  gateway.ended({ ...ended, target: { server: 'other', name: 'tool', isListed: true } })
  const lines = linesOf(await read?.(), 'pannier_gateway_calls_total')
  expect(lines).toHaveLength(502)
  expect(lines.find((line) => line.includes('tool="_other"'))).toMatch(/ 10$/)
})

test('names that a server does not list are not told', async () => {
  const gateway = new GatewayMetrics(() => NOTHING)
  const read = await prometheusMetrics()
  gateway.ended({ ...ended, target: { server: 'one', name: 'invented', isListed: false } })
  expect(await read?.()).not.toContain('invented')
})

test('a gateway that has ended is not measured any longer', async () => {
  const read = await prometheusMetrics()
  const server = { server: 'one', isUp: true, inFlight: 1, transport: 'process', links: 2, tools: 3 } as const
  const gateway = new GatewayMetrics(() => ({ servers: [{ ...server, listAgeSeconds: undefined }], parked: 0 }))
  gateway.refresh()
  expect(linesOf(await read?.(), 'pannier_gateway_links')).toEqual([
    'pannier_gateway_links{server="one",kind="process"} 2',
  ])
  gateway.close()
  expect(linesOf(await read?.(), 'pannier_gateway_links')).toEqual([])
})

test('where metrics are registered already there is nothing for Prometheus to read', async () => {
  await prometheusMetrics()
  expect(await prometheusMetrics()).toBeUndefined()
})
