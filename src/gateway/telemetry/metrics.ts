/**
 * The metrics of a gateway, by OpenTelemetry's API. An SDK may be registered at any time, so each call checks for one;
 * without it, that check is the only cost. Names of tools come from servers, so their number is limited for each server.
 */
import {
  type Attributes,
  type BatchObservableCallback,
  type Counter,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
  type Observable,
} from '@opentelemetry/api'
import { escapeUnprintable } from '../../state/internal.ts'
import { CallHistory } from './history.ts'
import type { CallOutcome, CallTarget } from './outcome.ts'
import { RecentCalls } from './recentCalls.ts'

/** The current measurements of one server. */
export interface ServerMeasures {
  readonly server: string
  readonly isUp: boolean
  readonly inFlight: number
  /** Whether its links are processes or connections. */
  readonly transport: 'process' | 'connection'
  readonly links: number
  readonly tools: number
  /** The age of its lists; undefined if they were never read. */
  readonly listAgeSeconds: number | undefined
}

export interface GatewayMeasures {
  readonly servers: readonly ServerMeasures[]
  /** The number of calls that wait for an answer of their callers. */
  readonly parked: number
}

export interface EndedCall {
  readonly method: string
  readonly target: CallTarget
  readonly outcome: CallOutcome
  readonly seconds: number
}

interface CallInstruments {
  readonly calls: Counter
  readonly duration: Histogram
}

interface Registration {
  readonly provider: MeterProvider
  readonly instruments: CallInstruments | undefined
  readonly stop: () => void
}

/** Maximum number of tool names of one server, far more than a model can choose from. */
const MAX_TOOLS = 500
const OTHER = '_other'
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export class GatewayMetrics {
  readonly history = new CallHistory()
  readonly recent = new RecentCalls()
  readonly #measure: () => GatewayMeasures
  readonly #tools = new Map<string, Set<string>>()
  #registered: Registration | undefined

  constructor(measure: () => GatewayMeasures) {
    this.#measure = measure
  }

  /** Registers the instruments with the current SDK. */
  refresh(): void {
    this.#current()
  }

  ended({ method, target, outcome, seconds }: EndedCall): void {
    this.history.ended(target.server, outcome === 'failed')
    const instruments = this.#current()
    if (instruments === undefined) return
    const attributes = { server: target.server, method, ...this.#nameOf(method, target) }
    instruments.calls.add(1, { ...attributes, outcome })
    instruments.duration.record(seconds, attributes)
  }

  /** Removes the instruments of a gateway that ends. */
  close(): void {
    this.#registered?.stop()
  }

  #current(): CallInstruments | undefined {
    const provider = metrics.getMeterProvider()
    if (provider !== this.#registered?.provider) this.#registered = this.#register(provider)
    return this.#registered.instruments
  }

  #register(provider: MeterProvider): Registration {
    this.#registered?.stop()
    const meter = provider.getMeter('pannier')
    if (meter === createNoopMeter()) return { provider, instruments: undefined, stop: () => {} }
    return { provider, instruments: callInstruments(meter), stop: observe(meter, this.#measure) }
  }

  #nameOf(method: string, { server, name, isListed }: CallTarget): Attributes {
    if (name === undefined || !isListed) return {}
    return { [method === 'prompts/get' ? 'prompt' : 'tool']: this.#bounded(server, escapeUnprintable(name)) }
  }

  #bounded(server: string, name: string): string {
    const known = this.#tools.get(server) ?? new Set()
    this.#tools.set(server, known)
    if (known.has(name)) return name
    if (known.size >= MAX_TOOLS) return OTHER
    known.add(name)
    return name
  }
}

function callInstruments(meter: Meter): CallInstruments {
  return {
    calls: meter.createCounter('pannier.gateway.calls', { description: 'Calls answered', unit: '{call}' }),
    duration: meter.createHistogram('pannier.gateway.call.duration', {
      description: 'From the arrival of a call at the gateway to its answer',
      unit: 's',
      advice: { explicitBucketBoundaries: BOUNDARIES },
    }),
  }
}

/** Returns the function that stops it. */
function observe(meter: Meter, measure: () => GatewayMeasures): () => void {
  const gauge = (name: string, description: string, unit: string): Observable =>
    meter.createObservableGauge(`pannier.gateway.${name}`, { description, unit })
  const up = gauge('server.up', 'Whether a server can be called', '1')
  const inFlight = gauge('calls.in_flight', 'Requests under way', '{request}')
  const links = gauge('links', 'Processes or connections that are open', '{link}')
  const tools = gauge('tools', 'Tools that are served', '{tool}')
  const listAge = gauge('list.age', 'Since the lists of a server were read', 's')
  const parked = gauge('calls.parked', 'Calls that wait for an answer of their callers', '{call}')
  const all = [up, inFlight, links, tools, listAge, parked]
  const callback: BatchObservableCallback = (result) => {
    const measures = measure()
    result.observe(parked, measures.parked)
    for (const each of measures.servers) {
      const { server } = each
      result.observe(up, each.isUp ? 1 : 0, { server })
      result.observe(inFlight, each.inFlight, { server })
      result.observe(links, each.links, { server, kind: each.transport })
      result.observe(tools, each.tools, { server })
      if (each.listAgeSeconds !== undefined) result.observe(listAge, each.listAgeSeconds, { server })
    }
  }
  meter.addBatchObservableCallback(callback, all)
  return () => meter.removeBatchObservableCallback(callback, all)
}
