/** What a call in a Worker learns of a client that disconnects while its call streams. */
import { newKey } from 'pannier/state'
import { afterAll, expect, test, vi } from 'vitest'
import { call, open } from '../fixtures/modernClient.ts'
import { startWorkerd } from './workerd.ts'

const DATE = '2026-10-20'
const runtime = await startWorkerd({
  entry: 'test/runtimes/leftWorker.ts',
  compatibilityDates: [DATE],
  bindings: { PANNIER_KEYS: newKey() },
})
const url = String(runtime.urls.get(DATE))
const countAborted = async () => (await call(url, 'aborted')).message.result.content[0].text

afterAll(() => runtime.close())

test('its signal aborts when the next keep-alive comment is written', async () => {
  const leave = new AbortController()
  const params = { name: 'wait', arguments: {} }
  const { body } = await open(url, { params, meta: { progressToken: 'p' }, signal: leave.signal })
  const first = await body?.getReader().read()
  expect(new TextDecoder().decode(first?.value)).toContain('notifications/progress')
  expect(await countAborted()).toBe('0')
  leave.abort()
  await vi.waitFor(async () => expect(await countAborted()).toBe('1'))
})
