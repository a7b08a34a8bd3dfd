/** Workers of a gateway that end, or are told to end. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { longTest } from '../longTest.ts'
import { accept } from '../fixtures/modernClient.ts'
import { ProgramHost } from '../cli/fixtures/program.ts'
import type { Incoming, MessageStream } from '../interop/fixtures/messageStream.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { type GatewayProcess, startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, connectClient, modernServer, sessionServer, stdioEntry, stubbornEntry } from './fixtures/gateways.ts'
import { answered, sure, textOf } from './fixtures/parkedRounds.ts'
import { descendantsOf, isAlive } from './fixtures/processTree.ts'
import { allServe, byHand, freeze, FRESH, linksOf, WORKERS, workersOf } from './fixtures/workers.ts'

const PATIENCE = { timeout: 30_000 }

interface WaitingClient {
  readonly client: Client
  readonly key: string
  /** The worker, from 1 on, in which its call waits. */
  readonly holder: number
  /** The text of the result, or the error. */
  readonly outcome: Promise<unknown>
}

/** Session-era clients whose calls wait for an answer, at least one of them in each worker. */
async function waitingClients(gateway: GatewayProcess, effects: readonly string[], answer: Promise<string>) {
  const clients: WaitingClient[] = []
  while (new Set(clients.map(({ holder }) => holder)).size < 2) {
    const client = new Client({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { name: await answer } }))
    let answers = 0
    const counted = (url: string | URL, init?: RequestInit): Promise<Response> =>
      fetch(url, init).finally(() => answers++)
    const options = { requestInit: { headers: FRESH }, fetch: counted }
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url), options))
    onTestFinished(() => client.close())
    // Requests go to the workers in turn. After three to begin the session and this one, the call comes to the worker of its
    // session, and the next session to the other.
    await vi.waitFor(() => expect(answers).toBe(3), PATIENCE)
    await fetch(gateway.url, { headers: FRESH })
    const before = await linksOf(gateway)
    const key = `waits-${clients.length}`
    const outcome = book(client, key)
    await vi.waitFor(() => expect(effects).toContain(`began ${key}`), PATIENCE)
    const holder = 1 + (await linksOf(gateway)).findIndex((links, at) => links > (before[at] ?? 0))
    clients.push({ client, key, holder, outcome })
    expect(clients.length).toBeLessThan(10)
  }
  return clients
}

const book = (client: Client, key: string): Promise<unknown> =>
  client.callTool({ name: 'desk_book', arguments: { key } }).then(textOf, (error: unknown) => error)

test('a connection that a worker has been given and not taken ends when the worker is killed', async () => {
  const { url } = await modernServer()
  const gateway = await startGatewayProcess({ ours: { url } }, WORKERS)
  const [frozen] = await workersOf(gateway)
  await freeze(gateway, 1)
  const waiting = new Set<number>()
  const ends = Array.from({ length: 4 }, async (_, turn) => {
    waiting.add(turn)
    const end = fetch(gateway.url, { headers: FRESH, signal: AbortSignal.timeout(10_000) })
    return end.then(({ status }) => String(status), String).finally(() => waiting.delete(turn))
  })
  // Connections go to the workers in turn, and a worker gets the next one when it has taken one.
  await vi.waitFor(() => expect(waiting.size).toBe(1), PATIENCE)
  process.kill(frozen!.pid, 'SIGKILL')
  expect((await Promise.all(ends)).toSorted()).toEqual(['406', '406', '406', 'TypeError: fetch failed'])
})

test('a worker that is killed: calls that wait there are told or go on, and another one serves in its place', async () => {
  const effects: string[] = []
  const { url: desk } = await sessionServer(undefined, () => effectTools(effects))
  const gateway = await startGatewayProcess({ desk: { url: desk, pannier: { state: 'stateful' } } }, WORKERS)
  const tools = ['desk_look', 'desk_book']
  const first = await Promise.all(tools.map((tool) => byHand(gateway.url, tool, { key: tool })))
  const second = await Promise.all(
    tools.map((tool, turn) => byHand(gateway.url, tool, { key: tool }, answered(first[turn], 'Ann'))),
  )
  const before = await workersOf(gateway)
  const holder = 1 + (await linksOf(gateway)).findIndex((links) => links > 0)
  const isKilled = Promise.withResolvers<string>()
  const clients = await waitingClients(gateway, effects, isKilled.promise)
  process.kill(before[holder - 1]!.pid, 'SIGKILL')
  await vi.waitFor(() => expect(gateway.shown()).toContain(`Worker ${holder} ended (SIGKILL)`), PATIENCE)
  expect(textOf(await byHand(gateway.url, 'desk_look', { key: 'desk_look' }, answered(second[0], 'Lee')))).toBe(
    'Ann Lee',
  )
  const { data } = await byHand(gateway.url, 'desk_book', { key: 'desk_book' }, answered(second[1], 'Lee'))
  expect(data).toEqual({ code: 'CALL_LOST', server: 'desk' })
  // Clients of the session era, which are asked in place: who waited there hears so, and every session goes on.
  isKilled.resolve('Ann')
  for (const { client, key, outcome, holder: heldBy } of clients) {
    if (heldBy === holder) expect(await outcome).toBeInstanceOf(Error)
    else expect(await outcome).toBe('Ann Ann')
    expect(effects.filter((effect) => effect === `began ${key}`)).toHaveLength(1)
    expect(await book(client, `${key} again`)).toBe('Ann Ann')
  }
  await vi.waitFor(() => expect(gateway.shown()).toContain(`Worker ${holder} serves again.`), PATIENCE)
  const after = await workersOf(gateway)
  expect(after[holder - 1]!.pid).not.toBe(before[holder - 1]!.pid)
  expect(after[2 - holder]!.pid).toBe(before[2 - holder]!.pid)
  // What waits is answered whichever of the two the rounds come to.
  for (let time = 0; time < 4; time++) {
    const asked = await byHand(gateway.url, 'desk_book', { key: `again ${time}` })
    const again = await byHand(gateway.url, 'desk_book', { key: `again ${time}` }, answered(asked, 'Ann'))
    expect(textOf(await byHand(gateway.url, 'desk_book', { key: `again ${time}` }, answered(again, 'Lee')))).toBe(
      'Ann Lee',
    )
  }
})

longTest('a session-era client goes on when a worker is killed that it has nothing at', async () => {
  const gateway = await startGatewayProcess({ ours: { url: (await modernServer()).url } }, WORKERS)
  const clients = await Promise.all([1, 2, 3, 4].map(() => connectClient('v1', gateway.url, FRESH)))
  for (const client of clients) expect(await call(client, 'ours_confirm')).toBe('accept true, accept true')
  const [worker] = await workersOf(gateway)
  process.kill(worker!.pid, 'SIGKILL')
  await vi.waitFor(() => expect(gateway.shown()).toContain('Worker 1 serves again.'), PATIENCE)
  for (const client of clients)
    for (let time = 0; time < 2; time++) expect(await call(client, 'ours_confirm')).toBe('accept true, accept true')
})

test('a worker that gets SIGTERM lets its calls finish, and another one serves in its place', async () => {
  const ours = await modernServer()
  const stdio = stdioEntry({ state: 'stateful', maxProcesses: 64 }) // of 16, callers without a name have 4 in each worker
  const gateway = await startGatewayProcess({ stdio, ours: { url: ours.url } }, WORKERS)
  const [worker] = await workersOf(gateway)
  // Calls that wait for their clients, of both eras; those of sessions are in both workers.
  const sessions: { session: RawSession; stream: MessageStream; asked: Incoming }[] = []
  while (sessions.length < 3 || (await linksOf(gateway)).includes(0)) {
    const session = await RawSession.begin(gateway.url, { capabilities: { elicitation: {} }, headers: FRESH })
    const stream = await session.call('stdio_confirm')
    sessions.push({ session, stream, asked: await stream.next() })
    expect(sessions.length).toBeLessThan(8)
  }
  const parked = await Promise.all([1, 2, 3].map(() => byHand(gateway.url, 'stdio_confirm')))
  process.kill(worker!.pid, 'SIGTERM')
  for (const { session, stream, asked } of sessions) {
    await session.answer(asked, accept({ sure: true }))
    await session.answer(await stream.next(), accept({ sure: true }))
    expect(textOf((await stream.rest()).at(-1)?.result)).toBe('accept true, accept true')
  }
  for (const each of parked) {
    const again = await byHand(gateway.url, 'stdio_confirm', {}, sure(each))
    expect(textOf(await byHand(gateway.url, 'stdio_confirm', {}, sure(again)))).toBe('accept true, accept true')
  }
  for (let time = 0; time < 10; time++)
    expect(textOf(await byHand(gateway.url, 'ours_add', { a: 1, b: time }))).toBe(`${1 + time}`)
  await vi.waitFor(() => expect(gateway.shown()).toContain('Worker 1 serves again.'), PATIENCE)
  expect(gateway.shown()).toContain('Worker 1 ended (exit code 0)')
  await allServe(gateway)
})

test('SIGTERM lets the calls of all workers finish, and leaves no process behind', async () => {
  const gateway = await startGatewayProcess({ stdio: stdioEntry(), ours: { url: (await modernServer()).url } }, WORKERS)
  for (const text of ['a', 'b']) await byHand(gateway.url, 'stdio_note', { text })
  const asked = await Promise.all([1, 2, 3].map(() => byHand(gateway.url, 'stdio_confirm')))
  const processes = descendantsOf(gateway.pid)
  expect(processes.length).toBeGreaterThan(4)
  const ended = gateway.end('SIGTERM')
  for (const each of asked) {
    const again = await byHand(gateway.url, 'stdio_confirm', {}, sure(each))
    expect(textOf(await byHand(gateway.url, 'stdio_confirm', {}, sure(again)))).toBe('accept true, accept true')
  }
  expect(await ended).toBe(0)
  await vi.waitFor(() => expect(processes.filter(isAlive)).toEqual([]), PATIENCE)
})

/** SIGTERM ends a gateway with a worker that does not answer any more. */
async function endsWithFrozenWorker(): Promise<void> {
  const gateway = await startGatewayProcess({ ours: { url: (await modernServer()).url } }, WORKERS)
  const processes = descendantsOf(gateway.pid)
  await freeze(gateway, 1)
  expect(await gateway.end('SIGTERM')).toBe(0)
  await vi.waitFor(() => expect(processes.filter(isAlive)).toEqual([]), PATIENCE)
}

/** No process of a server stays when those of its gateway are killed, also none that ignores its end. */
async function endsWithoutGateway(): Promise<void> {
  const gateway = await startGatewayProcess({ stubborn: stubbornEntry() }, WORKERS)
  for (const text of ['a', 'b']) await byHand(gateway.url, 'stubborn_note', { text })
  const [worker] = await workersOf(gateway)
  const processes = descendantsOf(gateway.pid)
  expect(descendantsOf(worker!.pid).length).toBeGreaterThan(1)
  expect(processes.length).toBeGreaterThan(4)
  // One worker can do nothing any more, and the other has to notice that it is alone.
  process.kill(worker!.pid, 'SIGKILL')
  void gateway.end('SIGKILL')
  await vi.waitFor(() => expect(processes.filter(isAlive)).toEqual([]), PATIENCE)
}

// Both have to wait until somebody who is silent counts as gone.
test('SIGTERM ends a worker that does not answer, and processes of servers end with a gateway that is killed', async () => {
  await Promise.all([endsWithFrozenWorker(), endsWithoutGateway()])
}, 90_000)

const host = new ProgramHost()
afterAll(() => host.close())

test.each([
  [['--workers', '0'], '--workers must be a whole number from 1 to 64.'],
  [['--workers', 'x'], '--workers must be a whole number from 1 to 64.'],
  [['--workers', '65'], '--workers must be a whole number from 1 to 64.'],
  [['--workers=-1'], '--workers must be a whole number from 1 to 64.'],
  [['--workers', '2', '--stdio'], 'Leave out --stdio or --workers.'],
])('%s is refused', async (args, sentence) => {
  const file = join(tmpdir(), `pannier-workers-${process.pid}.json`)
  writeFileSync(file, '{ "mcpServers": {} }')
  const { status, stderr } = await host.run(['gateway', file, '--port', '0', ...args])
  expect(stderr).toContain(sentence)
  expect(status).toBe(2)
})

test.each([
  ['PANNIER_PEERS', '10.0.0.5:8931', 'PANNIER_PEERS must have addresses of gateways'],
  ['PANNIER_ADVERTISE', 'foo', 'PANNIER_ADVERTISE must have addresses of gateways'],
  ['PANNIER_LOG_LEVEL', 'loud', 'PANNIER_LOG_LEVEL must be trace, debug'],
])('a wrong value of %s is told in a sentence', async (name, value, sentence) => {
  const file = join(tmpdir(), `pannier-variables-${process.pid}.json`)
  writeFileSync(file, '{ "mcpServers": {} }')
  const { status, stderr } = await host.run(['gateway', file, '--port', '0'], { env: { [name]: value } })
  expect(stderr).toContain(sentence)
  expect(stderr).not.toContain('    at ')
  expect(status).toBe(2)
})
