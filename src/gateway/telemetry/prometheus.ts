/** OpenTelemetry metrics of this process in the format of Prometheus. Only this file loads the exporter. */
import { metrics } from '@opentelemetry/api'

export type MetricsText = () => Promise<string>

/** Enough for many servers with many tools; further series are counted together. */
const MAX_SERIES = 20_000
/** The attributes of request metrics. The gateway's own metrics distinguish calls by server and tool. */
const REQUEST_ATTRIBUTES = ['mcp.method.name', 'mcp.protocol.version', 'error.type', 'pannier.outcome']

/**
 * Registers OpenTelemetry's metrics for this process, and returns the function that renders them; undefined if
 * `@opentelemetry/exporter-prometheus` and `@opentelemetry/sdk-metrics` are not installed, or metrics are registered already.
 */
export async function prometheusMetrics(): Promise<MetricsText | undefined> {
  const loaded = await load()
  if (loaded === undefined) return undefined
  const { AggregationTemporality, InstrumentType, MeterProvider, MetricReader, PrometheusSerializer } = loaded
  const { createAllowListAttributesProcessor } = loaded
  class PullReader extends MetricReader {
    protected override onShutdown = () => Promise.resolve()
    protected override onForceFlush = () => Promise.resolve()
  }
  const reader = new PullReader({
    // Drops series that are no longer observed, such as those of a removed server.
    aggregationTemporalitySelector: (type) =>
      type === InstrumentType.OBSERVABLE_GAUGE ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
  })
  const limit = { aggregationCardinalityLimit: MAX_SERIES }
  const views = [
    { instrumentName: 'pannier.gateway.*', ...limit },
    {
      instrumentName: 'mcp.server.*',
      attributesProcessors: [createAllowListAttributesProcessor(REQUEST_ATTRIBUTES)],
    },
    {
      instrumentName: 'pannier.server.*',
      attributesProcessors: [createAllowListAttributesProcessor(REQUEST_ATTRIBUTES)],
    },
  ]
  if (!metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader], views }))) return undefined
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  return async () => serializer.serialize((await reader.collect()).resourceMetrics)
}

async function load() {
  try {
    const sdk = await import('@opentelemetry/sdk-metrics')
    const { PrometheusSerializer } = await import('@opentelemetry/exporter-prometheus')
    return { ...sdk, PrometheusSerializer }
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
