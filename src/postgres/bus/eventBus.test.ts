import pg from 'pg'
import { beforeAll, expect, test, vi } from 'vitest'
import { eventsOf, open } from '../../../test/fixtures/modernClient.ts'
import { newDatabase, runSql } from '../../../test/postgres/database.ts'
import { EngineFixture } from '../../../test/postgres/engineFixture.ts'
import { newTask } from '../../../test/tasks/contract/harness.ts'
import { createServer, type EventBus, type ServerEvent } from '../../server/index.ts'
import { newKey } from '../../state/index.ts'
import type { PostgresOptions } from '../database.ts'
import { type PostgresBusOptions, postgresBus } from './eventBus.ts'

const fixture = new EngineFixture()
let url: string
beforeAll(async () => void (url = await newDatabase()))

const logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Each test has an audience of its own: a bus also gets events of the second before its start. */
const audienceOfTest = () => ({ audience: expect.getState().currentTestName ?? '' })

function newBus(connection: PostgresOptions = { url }, options: PostgresBusOptions = audienceOfTest()) {
  const bus = postgresBus(fixture.connect(connection), options)
  fixture.onTestEnd(() => bus.close())
  return bus
}

/** The events that a bus delivers from now on. */
function heardBy(bus: EventBus): ServerEvent[] {
  const heard: ServerEvent[] = []
  bus.subscribe((event) => heard.push(event))
  return heard
}

const updated = (uri: string): ServerEvent => ({ kind: 'updated', uri })
const numbered = (count: number, name = 'x') => Array.from({ length: count }, (_, at) => updated(`${name}://${at}`))

/** Ends all connections of these tests, as a restart of the database does. */
async function terminateConnections(): Promise<void> {
  await runSql(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'pannier'`,
  )
}

test('an event reaches the publisher at once, every other bus, and each of them once', async () => {
  const buses = [newBus(), newBus(), newBus()] as const
  const heard = buses.map(heardBy)
  const event = { kind: 'answered', call: 'c', question: 'q', answer: 'sealed \u0000 \ud800 ✓' } as const
  buses[0].publish(event)
  expect(heard[0]).toEqual([event])
  await vi.waitFor(() => expect(heard).toEqual([[event], [event], [event]]))
  buses[1].publish(updated('x://y'))
  await vi.waitFor(() => expect(heard.map(({ length }) => length)).toEqual([2, 2, 2]))
  // A second copy would come before what its publisher sends last.
  buses[0].publish(updated('last of 0'))
  await vi.waitFor(() => expect(heard.map((each) => each.at(-1))).toEqual(Array(3).fill(updated('last of 0'))))
  buses[1].publish(updated('last of 1'))
  await vi.waitFor(() => expect(heard.map((each) => each.at(-1))).toEqual(Array(3).fill(updated('last of 1'))))
  expect(heard).toEqual(Array(3).fill([event, updated('x://y'), updated('last of 0'), updated('last of 1')]))
})

test('two buses on one connection exchange events, beside a task engine', async () => {
  const connection = fixture.connect({ url, maxConnections: 2 })
  const engine = await fixture.openOn(connection)
  const leased = new Promise((resolve) => fixture.work(engine, async ({ id }) => resolve(id)))
  const [here, there] = [postgresBus(connection, audienceOfTest()), postgresBus(connection, audienceOfTest())]
  fixture.onTestEnd(() => Promise.all([here.close(), there.close()]))
  const heard = heardBy(there)
  here.publish(updated('x://y'))
  await vi.waitFor(() => expect(heard).toEqual([updated('x://y')]))
  const { id } = await engine.create(newTask())
  expect(await leased).toBe(id)
})

test('events of many megabytes arrive, in order with small ones', async () => {
  const [here, there] = [newBus(), newBus()]
  const heard = heardBy(there)
  const events = [
    updated('small'),
    ...['a', 'b', 'c'].map(
      (name) => ({ kind: 'answered', call: 'c', question: name, answer: name.repeat(3e6) }) as const,
    ),
    updated('x'.repeat(8000)),
    updated('last'),
  ]
  for (const event of events) here.publish(event)
  await vi.waitFor(() => expect(heard).toHaveLength(events.length))
  expect(heard).toEqual(events)
})

test('thousands of events of several publishers arrive once, in the order of each publisher', async () => {
  const publishers = { a: newBus(), b: newBus(), c: newBus() }
  const reader = newBus()
  const heard = heardBy(reader)
  for (let at = 0; at < 3000; at++) {
    for (const [name, bus] of Object.entries(publishers)) bus.publish(updated(`${name}://${at}`))
    if (at % 100 === 0) await new Promise(setImmediate)
  }
  await vi.waitFor(() => expect(heard).toHaveLength(9000))
  for (const name of Object.keys(publishers)) {
    expect(heard.filter((event) => event.kind === 'updated' && event.uri.startsWith(name))).toEqual(
      numbered(3000, name),
    )
  }
})

test('a bus whose connections are cut delivers all events once, and reports nothing', async () => {
  const [here, there] = [newBus(), newBus()]
  const heard = heardBy(there)
  const events = numbered(600)
  for (const [at, event] of events.entries()) {
    if (at === 200 || at === 400) await terminateConnections()
    here.publish(event)
    if (at % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await vi.waitFor(() => expect(heard).toHaveLength(events.length))
  for (const last of ['after', 'and after']) {
    here.publish(updated(last))
    await vi.waitFor(() => expect(heard.at(-1)).toEqual(updated(last)))
  }
  expect(heard).toEqual([...events, updated('after'), updated('and after')])
})

test('while the database refuses connections, publish returns, the publisher gets its events, and others later', async () => {
  const away = await newDatabase()
  const name = new URL(away).pathname.slice(1)
  const pool = new pg.Pool({ connectionString: away })
  fixture.onTestEnd(() => pool.end())
  const connect = vi.spyOn(pool, 'connect')
  const [here, there] = [newBus({ url: away }), newBus({ pool })]
  const [own, heard] = [heardBy(here), heardBy(there)]
  here.publish(updated('before'))
  await vi.waitFor(() => expect(heard).toHaveLength(1))
  await runSql(url, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await runSql(url, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
  here.publish(updated('meanwhile'))
  expect(own).toEqual([updated('before'), updated('meanwhile')])
  const attempts = connect.mock.calls.length
  await vi.waitFor(() => expect(connect.mock.calls.length).toBeGreaterThan(attempts + 1))
  expect(heard).toHaveLength(1)
  await runSql(url, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  await vi.waitFor(() => expect(heard).toEqual(own))
})

test('where LISTEN is refused, events are found by polling', async () => {
  const pool = new pg.Pool({ connectionString: url })
  fixture.onTestEnd(() => pool.end())
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => Promise<pg.QueryResult>
    const refuse = (...given: unknown[]) => {
      const isListen = (given[0] as { text?: string }).text?.startsWith('LISTEN')
      return isListen ? Promise.reject(new Error('No.')) : query(...given)
    }
    Object.assign(client, { query: refuse })
  })
  const [here, there] = [newBus(), newBus({ pool })]
  const heard = heardBy(there)
  here.publish(updated('x://y'))
  await vi.waitFor(() => expect(heard).toEqual([updated('x://y')]))
})

test('a bus that begins later gets no events of the past', async () => {
  const here = newBus()
  const first = heardBy(newBus())
  here.publish(updated('old'))
  await vi.waitFor(() => expect(first).toHaveLength(1))
  await runSql(url, `UPDATE pannier.bus_events SET expires_at = expires_at - interval '5 seconds'`)
  const heard = heardBy(newBus())
  here.publish(updated('new'))
  await vi.waitFor(() => expect(heard).toHaveLength(1))
  expect(heard).toEqual([updated('new')])
})

test('buses of other schemas and of other audiences do not get each others events', async () => {
  const others = () => [
    newBus({ url, schema: 'other' }),
    newBus({ url }, { audience: 'b' }),
    newBus({ url, schema: 'other' }, { audience: 'a' }),
  ]
  const heardByOthers = others().map(heardBy)
  const [here, there] = [newBus({ url }, { audience: 'a' }), newBus({ url }, { audience: 'a' })]
  const heard = heardBy(there)
  here.publish(updated('x://y'))
  await vi.waitFor(() => expect(heard).toHaveLength(1))
  await terminateConnections() // all of them search after this
  here.publish(updated('x://z'))
  await vi.waitFor(() => expect(heard).toHaveLength(2))
  for (const other of others()) other.publish(updated('own'))
  await vi.waitFor(() => expect(heardByOthers.map((each) => each.at(-1))).toEqual(Array(3).fill(updated('own'))))
  expect(heardByOthers).toEqual(Array(3).fill([updated('own')]))
})

test('a notification contains nothing of an event, and one that somebody else made up does no harm', async () => {
  const [here, there] = [
    newBus({ url }, { audience: 'quiet-audience' }),
    newBus({ url }, { audience: 'quiet-audience' }),
  ]
  const heard = heardBy(there)
  const spy = new pg.Client({ connectionString: url })
  fixture.onTestEnd(() => spy.end())
  await spy.connect()
  const payloads: string[] = []
  spy.on('notification', ({ payload = '' }) => payloads.push(payload))
  await spy.query('LISTEN pannier_events')
  await vi.waitFor(() => {
    here.publish({ kind: 'session-ended', session: 'telling-session', expiresAt: 1 })
    expect(payloads.some((payload) => payload.includes('bus '))).toBe(true)
  })
  expect(payloads.join()).not.toMatch(/telling|session|quiet/)
  const [, prefix] = payloads.find((payload) => payload.includes('bus '))?.split(/^\S+ (bus \S+) /) ?? []
  for (const id of ["'; --", '', '00000000-0000-0000-0000-000000000000', 'x'.repeat(7000)]) {
    await spy.query('SELECT pg_notify($1, $2)', ['pannier_events', `someone ${prefix} ${id}`])
  }
  heard.length = 0
  here.publish(updated('x://y'))
  await vi.waitFor(() => expect(heard).toContainEqual(updated('x://y')))
})

test('expired events are removed', async () => {
  const here = newBus()
  const heard = heardBy(newBus())
  for (const event of numbered(2500)) here.publish(event)
  await vi.waitFor(() => expect(heard).toHaveLength(2500))
  await runSql(url, `UPDATE pannier.bus_events SET expires_at = expires_at - interval '200 seconds'`)
  // A bus sweeps when it is first used.
  newBus().publish(updated('fresh'))
  await vi.waitFor(
    async () =>
      expect(await runSql(url, 'SELECT event FROM pannier.bus_events')).toEqual([
        { event: JSON.stringify(updated('fresh')) },
      ]),
    { timeout: 5000 },
  )
})

test('a bus that is closed at once has sent its events, and then neither sends nor delivers', async () => {
  const there = newBus()
  const [heard, heardLater] = [heardBy(there), heardBy(newBus())]
  const here = postgresBus(fixture.connect({ url }), audienceOfTest())
  const own = heardBy(here)
  here.publish(updated('x://y'))
  await here.close()
  await here.close()
  here.publish(updated('late'))
  await vi.waitFor(() => expect(heard).toEqual([updated('x://y')]))
  there.publish(updated('other'))
  await vi.waitFor(() => expect(heardLater).toEqual([updated('x://y'), updated('other')]))
  expect(own).toEqual([updated('x://y')])
  expect(heard).toEqual([updated('x://y'), updated('other')])
})

test('a bus whose connection was closed first delivers to its own listeners, and closes', async () => {
  const connection = fixture.connect({ url })
  const bus = postgresBus(connection)
  const own = heardBy(bus)
  await connection.close()
  bus.publish(updated('x://y'))
  expect(own).toEqual([updated('x://y')])
  await bus.close()
})

test('a listener that throws keeps the event from nobody else, and publish does not throw', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  fixture.onTestEnd(() => warn.mockRestore())
  const [here, there] = [newBus(), newBus()]
  for (const bus of [here, there]) {
    bus.subscribe(() => {
      throw new Error('A listener is broken.')
    })
  }
  const [own, heard] = [heardBy(here), heardBy(there)]
  here.publish(updated('x://y'))
  here.publish(updated('x://z'))
  await vi.waitFor(() => expect(heard).toHaveLength(2))
  expect(own).toEqual(heard)
  expect(warn).toHaveBeenCalledTimes(4)
})

test('an update at one server reaches a subscriber of another one', async () => {
  const keys = newKey()
  const [one, two] = [newBus(), newBus()].map((bus) => {
    const server = createServer({ name: 'news', version: '1.0.0', keys, bus, logger })
    return server.resource('x://y', { name: 'y' }, () => 'y')
  })
  const listening = await two!.listen({ port: 0 })
  fixture.onTestEnd(() => two!.drain({ deadlineMs: 0 }))
  const params = { notifications: { resourceSubscriptions: ['x://y'] } }
  const response = await open(listening.url, { method: 'subscriptions/listen', params, id: 'sub-1' })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  const read = async (count: number) => {
    while (eventsOf(text).length < count) text += decoder.decode((await reader.read()).value, { stream: true })
    return eventsOf(text)
  }
  await read(1)
  one!.updated('x://y')
  expect((await read(2))[1]).toMatchObject({ method: 'notifications/resources/updated', params: { uri: 'x://y' } })
})
