/** One call through a gateway as OpenTelemetry shows it: at the gateway, at the server, and where gateways forward it. */
import { SpanKind } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { call as callByHand, type Wire } from '../fixtures/modernClient.ts'
import {
  idOf,
  linksOf,
  PARENT,
  parentOf,
  registerTracing,
  type Traced,
  traceOf,
  traceparent,
} from '../fixtures/tracing.ts'
import { testIsOver } from '../fixtures/until.ts'
import { balancedGateways } from './fixtures/bothEras.ts'
import { call, connectClient, modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'
import { sure } from './fixtures/parkedRounds.ts'

/** All rounds of a call that asks twice, by a client of the stateless era. Each goes to the next gateway. */
async function confirm(urls: readonly string[], tool: string, meta: Record<string, unknown> = {}): Promise<string> {
  let round: Wire
  for (const at of [0, 1, 2]) {
    const params = round === undefined ? {} : sure(round)
    round = (await callByHand(urls[at % urls.length] as string, tool, {}, { params, meta })).message.result
  }
  return round.content[0].text
}

const CONFIRMED = 'accept true, accept true'
const rounds = (traced: Traced, name: string) =>
  traced.named(name).filter(({ kind, attributes }) => kind === SpanKind.SERVER && attributes['pannier.call.round'])

describe('a call with questions to a server of the stateless era', () => {
  test('is linked at the server from each round to the first, in the traces of the gateway', async () => {
    const traced = registerTracing()
    const { url } = await startGateway({ ours: { url: (await modernServer()).url } })
    expect(await confirm([url], 'ours_confirm')).toBe(CONFIRMED)
    const [first, ...later] = rounds(traced, 'tools/call confirm')
    expect(later.map(linksOf)).toEqual([[idOf(first as never)], [idOf(first as never)]])
    const clients = traced.named('tools/call confirm').filter(({ kind }) => kind === SpanKind.CLIENT)
    expect([first, ...later].map((span) => parentOf(span as never))).toEqual(clients.map(idOf))
    expect(clients.map(parentOf)).toEqual(traced.named('tools/call ours_confirm').map(idOf))
    expect(clients[0]?.attributes).toMatchObject({ 'gen_ai.operation.name': 'execute_tool' })
  })

  test('of a session-era client is one trace, with its questions to the client', async () => {
    const traced = registerTracing()
    const { url } = await startGateway({ ours: { url: (await modernServer()).url } })
    const client = await connectClient('v1', url)
    traced.exporter.reset()
    expect(await call(client, 'ours_confirm')).toBe(CONFIRMED)
    const outer = traced.one('tools/call ours_confirm')
    expect(new Set(traced.spans.map(traceOf))).toEqual(new Set([traceOf(outer)]))
    expect(rounds(traced, 'tools/call confirm').map(({ attributes }) => attributes['pannier.call.round'])).toEqual([
      1, 2, 3,
    ])
    const questions = traced.named('elicitation/create')
    expect(questions.map(({ kind }) => kind)).toEqual([SpanKind.CLIENT, SpanKind.CLIENT])
    expect(questions.map(({ attributes }) => attributes['pannier.question.key'])).toEqual(['first', 'second'])
  })
})

describe('a call with questions to a server of the session era', () => {
  test('is one trace at two gateways, which forward its rounds to each other', async () => {
    const traced = registerTracing()
    const http = { url: (await sessionServer()).url, pannier: { state: 'stateful' } }
    const { gateways } = await balancedGateways({ http }, testIsOver)
    traced.exporter.reset()
    const urls = gateways.map(({ url }) => url)
    expect(await confirm(urls, 'http_confirm')).toBe(CONFIRMED)
    const all = traced.named('tools/call http_confirm')
    expect(new Set(all.map(traceOf)).size).toBe(1)
    const named = all.filter(({ attributes }) => attributes['pannier.call.id'] !== undefined)
    expect(new Set(named.map(({ attributes }) => attributes['pannier.call.id'])).size).toBe(1)
    expect(new Set(named.map(({ attributes }) => attributes['pannier.call.round']))).toEqual(new Set([1, 2, 3]))
    expect(traced.named('wait').map(traceOf)).toEqual(traced.named('wait').map(() => traceOf(all[0] as never)))
    expect(traced.named('wait')).toHaveLength(2)
    // The second round came to the other gateway: its span at the owner is below the one of the forwarding gateway.
    const ids = new Set(traced.spans.map(idOf))
    const roots = all.filter((span) => !ids.has(parentOf(span) ?? ''))
    expect(roots).toHaveLength(1)
  })

  test('has the client’s spans as parents where it names them, and links to the first round', async () => {
    const traced = registerTracing()
    const { url } = await startGateway({ http: { url: (await sessionServer()).url } })
    traced.exporter.reset()
    expect(await confirm([url], 'http_confirm', { traceparent })).toBe(CONFIRMED)
    const [first, ...later] = traced.named('tools/call http_confirm')
    expect([first, ...later].map((span) => parentOf(span as never))).toEqual([PARENT, PARENT, PARENT])
    expect(later.map(linksOf)).toEqual([[idOf(first as never)], [idOf(first as never)]])
  })

  test.each(['v1', 'v2 in a session'] as const)('shows the questions to the client %s as spans', async (kind) => {
    const traced = registerTracing()
    const { url } = await startGateway({ http: { url: (await sessionServer()).url } })
    const client = await connectClient(kind, url)
    traced.exporter.reset()
    expect(await call(client, 'http_confirm')).toBe(CONFIRMED)
    const outer = traced.one('tools/call http_confirm')
    expect(new Set(traced.named('elicitation/create').map(traceOf))).toEqual(new Set([traceOf(outer)]))
    expect(traced.named('elicitation/create')).toHaveLength(2)
  })
})
