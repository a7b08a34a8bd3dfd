/** Limits of callers count for all workers of a gateway together. */
import { expect, test, vi } from 'vitest'
import { call as callByHand, type Wire } from '../fixtures/modernClient.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { modernServer } from './fixtures/gateways.ts'
import { FRESH } from './fixtures/workers.ts'

const PATIENCE = { timeout: 30_000 }

test('requests per minute and calls at once are counted over all workers, and those of a worker that dies are over', async () => {
  const ours = await modernServer()
  const settings = { admin: { port: 0 }, workers: 2, limits: { requestsPerMinute: 12, callsAtOnce: 2 } }
  const gateway = await startGatewayProcess({ ours: { url: ours.url } }, { settings })
  const at = async (tool: string, signal?: AbortSignal): Promise<Wire> => {
    const { message } = await callByHand(
      gateway.url,
      tool,
      { a: 1, b: 2 },
      { headers: FRESH, ...(signal && { signal }) },
    )
    return message.result ?? message.error
  }
  const left = new AbortController()
  const waiting = [1, 2].map(() => at('ours_wait', left.signal).catch(() => undefined))
  await vi.waitFor(() => expect(ours.states).toEqual(['waiting', 'waiting']), PATIENCE)
  for (let time = 0; time < 2; time++)
    expect(await at('ours_add')).toMatchObject({ message: expect.stringContaining('at most 2') })
  left.abort()
  await Promise.all(waiting)
  await vi.waitFor(() => expect(ours.states.filter((state) => state === 'cancelled')).toHaveLength(2), PATIENCE)
  const kept = [1, 2].map(() => at('ours_wait').catch(() => undefined))
  await vi.waitFor(() => expect(ours.states.filter((state) => state === 'waiting')).toHaveLength(4), PATIENCE)
  const { workers }: Wire = await (await fetch(`${gateway.admin}health`)).json()
  process.kill(workers[0].pid, 'SIGKILL')
  await vi.waitFor(() => expect(gateway.shown()).toContain('Worker 1 serves again.'), PATIENCE)
  // Each of them had one, so that there is room for one more.
  expect(await at('ours_add')).toMatchObject({ content: [{ text: '3' }] })
  // Seven were counted so far.
  const answers = await Promise.all(Array.from({ length: 8 }, () => at('ours_add')))
  const refused = answers.filter(({ message }) => String(message).includes('at most 12 per minute'))
  expect(refused).toHaveLength(3)
  process.kill(gateway.pid, 'SIGKILL')
  await Promise.all(kept)
})
