/** The metrics of servers and gateways: what really arrives at an SDK of OpenTelemetry when some calls are made. */
import { metrics } from '@opentelemetry/api'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider, type MetricData, MetricReader, type ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { z } from 'zod'
import { GatewayMetrics } from '../../src/gateway/telemetry/metrics.ts'
import { Registry } from '../../src/server/catalog/registry.ts'
import { createServer } from '../../src/server/index.ts'
import { openTelemetry } from '../../src/server/telemetry/telemetry.ts'
import { newKey } from '../../src/state/index.ts'
import { testClient } from '../../src/testing/index.ts'
import { code, prose, table } from '../docs/markdown.ts'

class Reader extends MetricReader {
  protected override onShutdown = (): Promise<void> => Promise.resolve()
  protected override onForceFlush = (): Promise<void> => Promise.resolve()
}

export async function metricsReference(): Promise<string> {
  const reader = new Reader()
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  const gateway = new GatewayMetrics(() => ({
    parked: 0,
    servers: [{ server: 'a', isUp: true, inFlight: 0, transport: 'process', links: 1, tools: 1, listAgeSeconds: 1 }],
  }))
  try {
    await useServer()
    useGateway(gateway)
    openTelemetry(new Registry()).notice('chat', 'sent')
    const { resourceMetrics } = await reader.collect()
    const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics)
    const part = (title: string, has: (name: string) => boolean): string =>
      [
        `## ${title}`,
        metricsTable(
          all.filter((each) => has(each.descriptor.name)),
          resourceMetrics,
        ),
      ].join('\n\n')
    const isOfGateway = (name: string): boolean => name.startsWith('pannier.gateway.')
    return [part('Of a server', (name) => !isOfGateway(name)), part('Of a gateway', isOfGateway)].join('\n\n')
  } finally {
    gateway.close()
    metrics.disable()
  }
}

/** A call that asks and gets a wrong answer first, a call that fails, one of nothing, and a prompt. */
async function useServer(): Promise<void> {
  const server = createServer({ name: 'measured', version: '1.0.0', keys: newKey() })
    .tool('ask', { description: 'Asks.' }, async (_, ctx) => {
      const { n } = await ctx.ask('n', { message: 'How many?', schema: z.object({ n: z.number() }) })
      return String(n)
    })
    .tool('fail', { description: 'Fails.' }, () => {
      throw new Error('no')
    })
    .prompt('review', { description: 'A prompt.' }, () => 'Review it.')
  let answers = 0
  const n = () => ({ n: answers++ === 0 ? 'many' : 1 })
  const client = await testClient(server, { answers: { n } })
  await client.callTool({ name: 'ask', arguments: {} })
  await client.callTool({ name: 'fail', arguments: {} })
  await client.callTool({ name: 'none', arguments: {} }).catch(() => undefined)
  await client.getPrompt({ name: 'review' })
  await client.close()
  await server.drain()
}

function useGateway(gateway: GatewayMetrics): void {
  for (const method of ['tools/call', 'prompts/get']) {
    gateway.ended({ method, target: { server: 'a', name: 'b', isListed: true }, outcome: 'complete', seconds: 1 })
  }
}

function metricsTable(all: readonly MetricData[], resource: ResourceMetrics): string {
  const rows = all
    .toSorted((a, b) => a.descriptor.name.localeCompare(b.descriptor.name, 'en'))
    .map((metric) => {
      const { name, unit, description } = metric.descriptor
      const points: readonly { attributes: object }[] = metric.dataPoints
      const attributes = [...new Set(points.flatMap((point) => Object.keys(point.attributes)))].toSorted()
      return [code(name), kindOf(metric, resource), code(unit), prose(description), attributes.map(code).join(', ')]
    })
  return table(['metric', 'at `/metrics`', 'unit', 'what it is', 'by'], rows)
}

/** Name and kind in the format of Prometheus, by the exporter's own serializer. */
function kindOf(metric: MetricData, { resource, scopeMetrics: [scope] }: ResourceMetrics): string {
  if (scope === undefined) return ''
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  const text = serializer.serialize({ resource, scopeMetrics: [{ ...scope, metrics: [metric] }] })
  const [, name = '', kind = ''] = /^# TYPE (\S+) (\S+)$/m.exec(text) ?? []
  return `${code(name)}, ${kind}`
}
