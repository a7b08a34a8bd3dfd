import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createServer } from 'pannier/server'
import { healthOf, loggedServer, offerTraced, offerWork } from '../../docs/snippets/watching.ts'
import { PARENT, registerTracing, traceparent } from '../fixtures/tracing.ts'
import { Caller, textOf } from './fixtures/caller.ts'

const server = () => createServer({ name: 'watched', version: '1.0.0' })

describe('docs/snippets/watching.ts', () => {
  test('pino is a logger as it is, and is told the code of a bad state but never the state', async () => {
    const lines: string[] = []
    const logged = offerWork(loggedServer(pino({ level: 'debug' }, { write: (line) => void lines.push(line) })))
    const requestState = 'not-a-state-of-ours'
    const { error } = await new Caller(logged.fetch).round('work', {}, { requestState })
    expect(error.message).toBe('The request state is not valid here (any more). Repeat the call from its first round.')
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ code: 'STATE_MALFORMED', msg: 'A state was refused.' })
    expect(lines.join('')).not.toContain(requestState)
  })

  test('progress and log messages go to a client that wants them', async () => {
    const meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'info' }
    const wanting = await new Caller(offerWork(server()).fetch, { meta }).round('work')
    expect(wanting.notifications.map(({ method }) => method)).toEqual([
      'notifications/message',
      ...Array.from({ length: 3 }, () => 'notifications/progress'),
    ])
    expect((await new Caller(offerWork(server()).fetch).round('work')).notifications).toEqual([])
  })

  test('a request is a span with the caller’s as parent, and the handler’s spans are its children', async () => {
    const traced = registerTracing()
    const reply = await new Caller(offerTraced(server()).fetch, { meta: { traceparent } }).round('traced')
    expect(textOf(reply)).toBe(`The trace parent of this request: ${traceparent}.`)
    const [inner, request] = traced.spans
    expect(request?.name).toBe('tools/call traced')
    expect(request?.attributes).toMatchObject({ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'traced' })
    expect(request?.parentSpanContext?.spanId).toBe(PARENT)
    expect(inner?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId)
  })

  test('a server tells how many requests are under way', () => {
    expect(healthOf(server())).toEqual({ status: 200, inFlight: 0, trouble: undefined })
  })
})
