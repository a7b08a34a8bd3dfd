/**
 * Tasks of the revision 2025-11-25 on two instances behind a plain round robin: clients of the SDK v1 with nothing of ours
 * around them, and instances that share the tasks and nothing else: no bus, no store, no ledger.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js'
import { createServer, type Server } from 'pannier/server'
import { newKey } from 'pannier/state'
import { createTasks } from 'pannier/tasks'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { newDatabase } from '../postgres/database.ts'
import { type Balancer, startBalancer } from '../survival/balancer.ts'
import { offerOrders } from './fixtures/orders.ts'
import { engineAt, type StoreLocation } from './survival/fixtures/stores.ts'

const program = fileURLToPath(new URL('./programs/orderInstance.ts', import.meta.url))
const silent = { debug() {}, info() {}, warn() {}, error() {} }
// A lost stream is asked for again at once, so that what is slow is the server.
const reconnectionOptions = {
  initialReconnectionDelay: 10,
  maxReconnectionDelay: 200,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 20,
}

const folder = mkdtempSync(join(tmpdir(), 'pannier-round-robin-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const stores: Record<string, () => Promise<StoreLocation>> = {
  SQLite: async () => ({ kind: 'sqlite', path: join(folder, 'tasks.db') }),
  PostgreSQL: async () => ({ kind: 'postgres', url: await newDatabase() }),
}

/** Two instances in this process. */
class Pair {
  readonly front: Balancer
  readonly #servers: readonly Server[]
  readonly #urls: readonly string[]
  mayEnd = false

  static async start(place: StoreLocation): Promise<Pair> {
    const keys = newKey()
    const servers = [1, 2].map(() => {
      const tasks = createTasks(engineAt(place, { leaseMs: 2000 }), { pollMs: 20 })
      return offerOrders(createServer({ name: 'orders', version: '1', logger: silent, keys, tasks }), () => pair.mayEnd)
    })
    const listening = await Promise.all(servers.map((server) => server.listen({ port: 0, drainOnTerm: false })))
    const urls = listening.map(({ url }) => url)
    const pair: Pair = new Pair(await startBalancer(), servers, urls)
    return pair
  }

  private constructor(front: Balancer, servers: readonly Server[], urls: readonly string[]) {
    this.front = front
    this.#servers = servers
    this.#urls = urls
    this.takeTurns()
  }

  takeTurns(): void {
    this.front.targets = this.#urls
  }

  /** From now on all requests go to one of the two. */
  use(index: number): void {
    this.front.targets = this.#urls.slice(index, index + 1)
  }

  async stop(index: number): Promise<void> {
    await this.#servers[index]?.drain({ deadlineMs: 30_000 })
  }

  async close(): Promise<void> {
    this.front.close()
    await Promise.all(this.#servers.map((server) => server.drain({ deadlineMs: 500 })))
  }
}

async function connect(
  url: string,
  answer: (message: string) => ElicitResult | Promise<ElicitResult>,
): Promise<Client> {
  const client = new Client({ name: 'v1', version: '1' }, { capabilities: { elicitation: {}, tasks: {} } })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params.message))
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { reconnectionOptions }))
  onTestFinished(() => client.close())
  return client
}

async function create(client: Client, name: string): Promise<string> {
  const request = { method: 'tools/call', params: { name, arguments: {}, task: { ttl: 60_000 } } } as const
  return (await client.request(request, CreateTaskResultSchema)).task.taskId
}

const resultOf = async (client: Client, taskId: string) => {
  const { content } = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)
  return content
}
const accept = (value: string): ElicitResult => ({ action: 'accept', content: { value } })
const answerOf = (message: string): ElicitResult => accept(message === 'What?' ? 'a chair' : 'oak')
const ordered = [{ type: 'text', text: 'a chair of oak' }]

describe.each(Object.keys(stores))('tasks in %s, two instances behind a round robin', (name) => {
  let pair: Pair
  beforeAll(async () => {
    pair = await Pair.start((await stores[name]?.()) as StoreLocation)
  })
  afterAll(() => pair.close())
  beforeEach(() => pair.takeTurns())

  test('an answer at the instance that did not ask reaches the task, and the result comes where it was asked for', async () => {
    const client = await connect(pair.front.url, (message) => {
      pair.use(1)
      return answerOf(message)
    })
    pair.use(0)
    const taskId = await create(client, 'order')
    expect(await resultOf(client, taskId)).toEqual(ordered)
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'completed' })
    expect(await resultOf(client, taskId)).toEqual(ordered)
  })

  test('calls at once, each followed by the client itself, are all asked and answered', async () => {
    const client = await connect(pair.front.url, answerOf)
    await client.listTools()
    const call = async () => {
      const { tasks } = client.experimental
      const options = { task: { ttl: 60_000 } }
      for await (const message of tasks.callToolStream({ name: 'order' }, CallToolResultSchema, options)) {
        if (message.type === 'error') throw message.error
        if (message.type === 'result') return message.result.content
      }
      return undefined
    }
    const results = await Promise.all(Array.from({ length: 8 }, call))
    expect(results).toEqual(Array.from({ length: 8 }, () => ordered))
  })

  test('a cancellation at one instance ends the wait at the other', async () => {
    const asked = Promise.withResolvers<void>()
    const client = await connect(pair.front.url, () => {
      asked.resolve()
      return new Promise(() => {})
    })
    const taskId = await create(client, 'order')
    pair.use(0)
    const waiting = resultOf(client, taskId)
    await asked.promise
    pair.use(1)
    const cancelled = client.experimental.tasks.cancelTask(taskId)
    await expect(waiting).rejects.toThrow('cancelled')
    expect(await cancelled).toMatchObject({ status: 'cancelled' })
  })

  // The last one, because one instance is then gone.
  test('when an instance is stopped, clients that wait there for an answer or for work go on at the other, at once', async () => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<ElicitResult>()
    const client = await connect(pair.front.url, (message) => {
      asked.resolve()
      return message === 'What?' ? answer.promise : answerOf(message)
    })
    const [order, work] = [await create(client, 'order'), await create(client, 'work')]
    pair.use(0)
    const results = [order, work].map((taskId) => resultOf(client, taskId))
    await asked.promise
    await client.ping() // and so the second request is there as well
    pair.use(1)
    const before = performance.now()
    await pair.stop(0)
    expect(performance.now() - before).toBeLessThan(15_000)
    answer.resolve(answerOf('What?'))
    expect(await results[0]).toEqual(ordered)
    pair.mayEnd = true
    expect(await results[1]).toEqual([{ type: 'text', text: 'worked' }])
  })
})

test('when an instance is killed, a client that waits there gets an error, asks again and is asked again', async () => {
  const place: StoreLocation = { kind: 'sqlite', path: join(folder, 'killed.db') }
  const env = { ...process.env, PANNIER_KEYS: newKey(), PANNIER_LOG_LEVEL: 'silent', STORE: JSON.stringify(place) }
  const instances = await Promise.all(
    [1, 2].map(async () => {
      const child = spawn(process.execPath, ['--conditions=pannier-source', program], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      const [line] = (await once(child.stdout, 'data')) as [Buffer]
      return { child, url: line.toString().trim() }
    }),
  )
  const front = await startBalancer()
  onTestFinished(() => front.close())
  front.targets = instances.map(({ url }) => url)
  let [asked, waitingAt] = [0, '']
  front.onPass = (_, body, target) => {
    if (asked === 0 && body.includes('tasks/result')) waitingAt = target
  }
  const client = await connect(front.url, (message) => (++asked === 1 ? new Promise(() => {}) : answerOf(message)))
  const taskId = await create(client, 'order')
  const waiting = resultOf(client, taskId)
  await vi.waitFor(() => expect(asked).toBe(1))
  instances.find(({ url }) => url === waitingAt)?.child.kill('SIGKILL')
  await expect(waiting).rejects.toThrow(/instance .* is gone/)
  expect(await resultOf(client, taskId)).toEqual(ordered)
  expect(asked).toBe(3)
})
