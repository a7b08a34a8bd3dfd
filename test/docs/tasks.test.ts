/** The code of the pages about tasks, run. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Server } from 'pannier/server'
import { newKey } from 'pannier/state'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  bookServer,
  clusterServer,
  frontServer,
  movingServer,
  offerPrinting,
  type Printer,
} from '../../docs/snippets/tasks.ts'
import { readText, root } from '../../scripts/repository.ts'
import { newDatabase } from '../postgres/database.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { accept, TaskCaller } from '../fixtures/modernClient.ts'
import { membersOf } from './fixtures/optionTables.ts'

/** A printer that remembers what it did, and can run out of paper. */
class Press implements Printer {
  readonly did: string[] = []

  async layOut(book: string): Promise<{ pages: number }> {
    this.did.push(`lay out ${book}`)
    return { pages: 3 }
  }

  async print(page: number): Promise<void> {
    this.did.push(`page ${page}`)
  }

  async charge(pages: number, idempotencyKey: string): Promise<{ receipt: string }> {
    this.did.push(`charge ${pages}`)
    return { receipt: idempotencyKey.slice(0, 4) }
  }
}

async function serve(server: Server, press = new Press()): Promise<{ client: TaskCaller; press: Press }> {
  offerPrinting(server, press)
  const { url, close } = await listening(server)
  onTestFinished(close)
  return { client: new TaskCaller(url), press }
}

async function listening(server: Server): Promise<{ url: string; close: () => Promise<void> }> {
  const { url } = await server.listen({ port: 0, drainOnTerm: false })
  return { url, close: () => server.drain({ deadlineMs: 1000, idleMs: 0 }) }
}

beforeAll(() => void vi.stubEnv('PANNIER_LOG_LEVEL', 'silent'))

const PRINTED = ['lay out Atlas', 'page 1', 'page 2', 'page 3', 'charge 3']

async function printBook(client: TaskCaller): Promise<string> {
  const taskId = await client.create('print_book', { book: 'Atlas' })
  const asking = await client.until(taskId, 'input_required')
  expect(asking.inputRequests.agree.params.message).toContain('3 pages')
  await client.update(taskId, { agree: accept({ agree: true }) })
  return (await client.until(taskId, 'completed')).result.content[0].text
}

/** The example in a process of its own. */
async function startExample(TASKS: string): Promise<{ url: string; kill: () => void }> {
  const args = ['--conditions=pannier-source', 'examples/long-job/server.ts']
  const env = { ...process.env, TASKS, PORT: '0' }
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = (): void => void child.kill('SIGKILL')
  onTestFinished(kill)
  for await (const line of createInterface({ input: child.stdout })) {
    return { url: line.replace('Listening at ', ''), kill }
  }
  throw new Error('The example did not start.')
}

describe('docs/how-to/tasks.md', () => {
  test('the example goes on in a second process when the first is killed', async () => {
    const path = storePath()
    const [first, second] = await Promise.all([startExample(path), startExample(path)])
    const client = new TaskCaller(first.url)
    const taskId = await client.create('bake', { loaves: 2 })
    first.kill()
    client.url = second.url
    const asking = await client.until(taskId, 'input_required')
    expect(asking.inputRequests.customer.params.message).toBe('Who gets them?')
    await client.update(taskId, { customer: accept({ name: 'Kim' }) })
    const done = await client.until(taskId, 'completed')
    expect(done.result.content[0].text).toMatch(/^2 loaves for Kim, receipt \w{8}\.$/)
  })

  test('the job asks, goes on over its journal, and does each thing once', async () => {
    const { client, press } = await serve(bookServer(storePath()))
    expect(await printBook(client)).toMatch(/^Printed 3 pages of Atlas; the receipt is \w{4}\.$/)
    expect(press.did).toEqual(PRINTED)
  })

  test('a call asks first and becomes a task then', async () => {
    const { client, press } = await serve(bookServer(storePath()))
    const first = await client.call('order_book', { book: 'Atlas' })
    expect([first.resultType, press.did]).toEqual(['input_required', []])
    const { requestState } = first
    const inputResponses = { address: accept({ city: 'Oslo' }) }
    const { taskId } = await client.call('order_book', { book: 'Atlas' }, { requestState, inputResponses })
    const done = await client.until(taskId, 'completed')
    expect(done.result.content[0].text).toBe('Atlas is on its way to Oslo.')
  })
})

describe('docs/how-to/operating-tasks.md', () => {
  test('a front answers for tasks that another instance runs', async () => {
    const path = storePath()
    const { client, press: idle } = await serve(frontServer(path))
    const { press } = await serve(bookServer(path))
    expect(await printBook(client)).toContain('Printed 3 pages')
    expect([idle.did, press.did]).toEqual([[], PRINTED])
  })

  test('on PostgreSQL it is the same', async () => {
    const { client, press } = await serve(clusterServer(await newDatabase(), newKey()))
    expect(await printBook(client)).toContain('Printed 3 pages')
    expect(press.did).toEqual(PRINTED)
  })

  test('on the way from a file to PostgreSQL no task is lost', async () => {
    const path = storePath()
    const before = offerPrinting(bookServer(path), new Press())
    const { url, close } = await listening(before)
    const old = new TaskCaller(url)
    const taskId = await old.create('print_book', { book: 'Atlas' })
    await old.until(taskId, 'input_required')
    await close()
    const { client } = await serve(movingServer(path, await newDatabase()))
    await client.update(taskId, { agree: accept({ agree: true }) })
    expect((await client.until(taskId, 'completed')).result.content[0].text).toContain('Printed 3 pages')
    expect(await printBook(client)).toContain('Printed 3 pages')
  })

  test('the table of options names every one there is', () => {
    const page = readText('docs/reference/tasks.md')
    const service = membersOf(readText('src/tasks/service/service.ts'), 'TaskServiceOptions')
    const engine = membersOf(readText('src/tasks/engine.ts'), 'EngineOptions')
    for (const option of [...service, ...engine]) expect(page).toContain(`\`${option}\``)
    expect(service.length + engine.length).toBeGreaterThan(6)
  })
})
