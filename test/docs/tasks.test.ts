/** The code of the pages about tasks, run. */
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
import { newDatabase } from '../postgres/database.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { accept, TaskCaller } from '../fixtures/modernClient.ts'

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

describe('docs/how-to/tasks.md', () => {
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
})
