/** One call as OpenTelemetry shows it: rounds at several instances, steps, questions and waits. */
import { PassThrough } from 'node:stream'
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { createServer, type Server, type Tasks } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { accept, Caller } from '../docs/fixtures/caller.ts'
import { envelope, TaskCaller } from '../fixtures/modernClient.ts'
import {
  idOf,
  linksOf,
  PARENT,
  parentOf,
  registerTracing,
  timesOf,
  TRACE,
  traceOf,
  traceparent,
} from '../fixtures/tracing.ts'
import { call, connectClient } from '../gateway/fixtures/gateways.ts'
import { listening, storePath } from '../tasks/fixtures/echoServer.ts'
import { KEYS, quiet } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'

const SECRET = 'nobody-may-read-this'
const sure = { message: 'Sure?', schema: z.object({ sure: z.boolean() }) }

/** `book` reserves, asks twice, and charges once. */
function offerBooking(server: Server, task: object = {}): Server {
  server.tool('book', { description: 'Books.', input: z.object({ room: z.string() }), ...task }, async (_, ctx) => {
    await ctx.step('reserve', () => {
      trace.getTracer('author').startSpan('inner').end()
      return SECRET
    })
    await ctx.ask('first', sure)
    await ctx.ask('second', sure)
    await ctx.once('charge', () => SECRET)
    return 'Booked.'
  })
  return server.tool('fails', { description: 'Fails in a step.' }, (_, ctx) =>
    ctx.step('break', () => {
      throw new TypeError(SECRET)
    }),
  )
}

function instance(tasks?: Tasks): Server {
  const options = { name: 'traced', version: '1', keys: KEYS, logger: quiet }
  if (tasks === undefined) return offerBooking(createServer(options))
  return offerBooking(createServer({ ...options, tasks }), { task: 'optional' })
}

const args = { room: SECRET }
const answers = { first: accept({ sure: true }), second: accept({ sure: true }) }

describe('a call of three rounds at two instances', () => {
  test('is one trace where the client names none: each round is a child of the first', async () => {
    const traced = registerTracing()
    const { text } = await new Caller([instance().fetch, instance().fetch]).call('book', args, answers)
    expect(text).toBe('Booked.')
    const rounds = traced.named('tools/call book')
    expect(rounds.map(({ attributes }) => attributes['pannier.call.round'])).toEqual([1, 2, 3])
    expect(new Set(rounds.map(({ attributes }) => attributes['pannier.call.id'])).size).toBe(1)
    const [first, ...later] = rounds
    if (first === undefined) throw new Error('No round was recorded.')
    expect(new Set(traced.spans.map(traceOf)).size).toBe(1)
    expect(later.map(parentOf)).toEqual([idOf(first), idOf(first)])
    expect(later.every(({ kind }) => kind === SpanKind.SERVER)).toBe(true)
  })

  test('has the client’s spans as parents where it names them, and a link to the first round', async () => {
    const traced = registerTracing()
    const caller = new Caller([instance().fetch, instance().fetch], { meta: { traceparent } })
    await caller.call('book', args, answers)
    const rounds = traced.named('tools/call book')
    expect(rounds.map(parentOf)).toEqual([PARENT, PARENT, PARENT])
    const [first, ...later] = rounds
    expect(first?.links).toEqual([])
    expect(later.map(linksOf)).toEqual([[idOf(first as never)], [idOf(first as never)]])
  })

  test('shows each step as a span where it ran, and as an event where its result came from the journal', async () => {
    const traced = registerTracing()
    await new Caller([instance().fetch, instance().fetch]).call('book', args, answers)
    const [first, second, third] = traced.named('tools/call book')
    const reserve = traced.one('step reserve')
    expect(parentOf(reserve)).toBe(idOf(first as never))
    expect(parentOf(traced.one('inner'))).toBe(idOf(reserve))
    expect(parentOf(traced.one('once charge'))).toBe(idOf(third as never))
    expect(reserve.attributes).toEqual({ 'pannier.step.key': 'reserve' })
    const replayed = { name: 'pannier.step.replayed', attributes: { 'pannier.step.key': 'reserve' } }
    expect(first?.events.map(({ name }) => name)).toEqual(['pannier.question'])
    expect(second?.events).toMatchObject([replayed, { name: 'pannier.question' }])
    expect(third?.events).toMatchObject([replayed])
  })

  test('shows each question as an event, and the wait for its answer as a span between the rounds', async () => {
    const traced = registerTracing()
    await new Caller([instance().fetch, instance().fetch]).call('book', args, answers)
    const [first, second] = traced.named('tools/call book')
    expect(first?.events.at(-1)).toMatchObject({
      name: 'pannier.question',
      attributes: { 'pannier.question.key': 'first', 'mcp.method.name': 'elicitation/create' },
    })
    const waits = traced.named('wait')
    expect(waits.map(({ attributes }) => attributes['pannier.question.keys'])).toEqual([['first'], ['second']])
    expect(waits.map(parentOf)).toEqual([idOf(first as never), idOf(first as never)])
    const [from, to] = timesOf(waits[0] as never)
    expect(from).toBeGreaterThanOrEqual(Math.floor(timesOf(first as never)[0]))
    expect(to).toBe(timesOf(second as never)[0])
  })

  test('has nothing of what was said in its spans', async () => {
    const traced = registerTracing()
    const caller = new Caller([instance().fetch, instance().fetch])
    const { result } = await caller.round('book', args)
    await caller.call('book', args, answers)
    await caller.round('fails')
    expect(traced.text).toContain('step reserve')
    for (const hidden of [SECRET, result.requestState ?? SECRET]) expect(traced.text).not.toContain(hidden)
  })
})

test('a step that fails is a span with the class of its error', async () => {
  const traced = registerTracing()
  await new Caller(instance().fetch).round('fails')
  const step = traced.one('step break')
  expect(step.attributes).toMatchObject({ 'error.type': 'TypeError' })
  expect(step.status).toEqual({ code: SpanStatusCode.ERROR })
})

test('a later round with a state that is refused has a span, too', async () => {
  const traced = registerTracing()
  await new Caller(instance().fetch).round('book', args, { requestState: 'none' })
  expect(traced.one('tools/call book').attributes).toMatchObject({ 'rpc.response.status_code': '-32602' })
})

test('a call over standard input and output is traced by its `_meta`, as one over HTTP', async () => {
  const traced = registerTracing()
  const [input, output] = [new PassThrough(), new PassThrough()]
  const served = instance().stdio({ input, output, drainOnTerm: false })
  const params = { name: 'book', arguments: args, _meta: envelope({ elicitation: {} }, { traceparent }) }
  input.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`)
  await served
  const span = traced.one('tools/call book')
  expect(parentOf(span)).toBe(PARENT)
  expect(span.attributes).toMatchObject({ 'network.transport': 'pipe', 'pannier.call.round': 1 })
})

test('without a tracer, a state has nothing of a trace, and one with a trace is taken as before', async () => {
  const servers = [instance().fetch, instance().fetch]
  const size = async () => (await new Caller(servers).round('book', args)).result.requestState?.length ?? 0
  const plain = await size()
  registerTracing()
  const traced = await new Caller(servers).round('book', args)
  expect(traced.result.requestState?.length).toBeGreaterThan(plain)
  for (const api of [trace, context]) api.disable()
  const { requestState } = traced.result
  const next = await new Caller(servers).round('book', args, { requestState, inputResponses: answers })
  expect(Object.keys(next.result.inputRequests ?? {})).toEqual(['second'])
})

describe('a call of the session era', () => {
  test.each(['v1', 'v2 in a session'] as const)(
    'by the client %s is one span, and each question is a span of kind client inside it',
    async (kind) => {
      const traced = registerTracing()
      const client = await connectClient(kind, await listening(instance()))
      expect(await call(client, 'book', args)).toBe('Booked.')
      const round = traced.one('tools/call book')
      const questions = traced.named('elicitation/create')
      expect(questions.map(parentOf)).toEqual([idOf(round), idOf(round)])
      expect(questions.map(({ kind: of }) => of)).toEqual([SpanKind.CLIENT, SpanKind.CLIENT])
      expect(questions.map(({ attributes }) => attributes['pannier.question.key'])).toEqual(['first', 'second'])
      expect(questions[0]?.attributes).toMatchObject({
        'mcp.method.name': 'elicitation/create',
        'mcp.session.id': round.attributes['mcp.session.id'],
      })
      expect(parentOf(traced.one('step reserve'))).toBe(idOf(round))
    },
  )

  test('asks with its trace in `_meta`, and goes on in it at another instance', async () => {
    const traced = registerTracing()
    const [first, second] = [instance(), instance()]
    const [one, two] = [await listening(first), await listening(second)]
    onTestFinished(() => second.drain({ deadlineMs: 0 }))
    const session = await RawSession.begin(one, { capabilities: { elicitation: {} } })
    session.url = two
    await session.request('ping') // they have met
    session.url = one
    const stream = await session.call('book', args)
    const question = await stream.next()
    await first.drain({ deadlineMs: 5000 })
    session.url = two
    const resumed = await session.listen(stream.lastEventId)
    await session.answer(question, accept({ sure: true }))
    await session.answer(await resumed.next(), accept({ sure: true }))
    expect((await resumed.rest()).at(-1)).toMatchObject({ result: { content: [{ text: 'Booked.' }] } })
    const meta = (question.params as { _meta?: Record<string, string> })._meta
    const spans = traced.named('tools/call book')
    expect(new Set(spans.map(traceOf))).toEqual(new Set([meta?.['traceparent']?.split('-')[1]]))
    expect(new Set(spans.map(({ attributes }) => attributes['pannier.call.id'])).size).toBe(1)
    expect(traced.named('wait')).toHaveLength(1)
    expect(new Set(traced.named('elicitation/create').map(traceOf))).toEqual(new Set(spans.map(traceOf)))
  })
})

test.each([
  ['names no trace', {}],
  ['names its trace', { traceparent }],
])('the runs of a task whose client %s are children of the call that made it', async (_, meta) => {
  const traced = registerTracing()
  const server = instance(sqliteTasks({ path: storePath(), pollMs: 100 }))
  const url = await listening(server)
  onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
  const taskId = await new TaskCaller(url, { meta }).create('book', args)
  const client = new TaskCaller(url)
  for (const key of ['first', 'second']) {
    await client.until(taskId, 'input_required')
    await client.update(taskId, { [key]: accept({ sure: true }) })
  }
  await client.until(taskId, 'completed')
  const [created, ...runs] = traced.named('tools/call book')
  expect(runs.map(parentOf)).toEqual(runs.map(() => idOf(created as never)))
  expect(runs.map(({ attributes }) => attributes['pannier.call.round'])).toEqual([1, 2, 3])
  expect(runs.map(({ attributes }) => attributes['pannier.task.id'])).toEqual([taskId, taskId, taskId])
  const ids = [created, ...runs].map((span) => span?.attributes['pannier.call.id'])
  expect(new Set(ids).size).toBe(1)
  expect(parentOf(traced.one('step reserve'))).toBe(idOf(runs[0] as never))
  expect(runs.map(({ events }) => events.map(({ name }) => name))).toEqual([
    ['pannier.question'],
    ['pannier.step.replayed', 'pannier.question'],
    ['pannier.step.replayed'],
  ])
  if ('traceparent' in meta) expect(traceOf(created as never)).toBe(TRACE)
  expect(traced.text).not.toContain(SECRET)
})
