/** `pannier/client` in a bundle for browsers, which has no module of Node. */
import * as client from 'pannier/client'
import type { Listening } from 'pannier/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { restaurant } from '../../examples/mount/restaurant.ts'
import { startWorkerd, type Workerd } from './workerd.ts'

const DATE = '2025-09-15'

let server: Listening
let runtime: Workerd

beforeAll(async () => {
  server = await restaurant().listen()
  runtime = await startWorkerd({
    entry: 'test/runtimes/clientWorker.ts',
    compatibilityDates: [DATE],
    hasNode: false,
    isForBrowsers: true,
  })
})

afterAll(async () => {
  await runtime?.close()
  await server?.close()
})

async function run(task: object): Promise<unknown> {
  const response = await fetch(runtime.urls.get(DATE) ?? '', { method: 'POST', body: JSON.stringify(task) })
  return response.json()
}

test.each(['stateless', 'session'])('a client in a browser calls a tool that asks, in the %s era', async (era) => {
  const { tools, content } = (await run({ url: server.url, era })) as { tools: number; content: unknown }
  expect(tools).toBe(3)
  expect(content).toEqual([{ type: 'text', text: 'Booked for 4 on Friday.' }])
})

test('it has all names, and what needs Node says so when it is used', async () => {
  expect(await run({})).toEqual({
    process: false,
    command: expect.stringMatching('needs node:'),
    names: Object.keys(client).toSorted(),
  })
})

test('the runtime has nothing to complain about', () => {
  expect(runtime.output()).toBe('')
})
