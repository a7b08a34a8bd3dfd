/** Callers of servers that do nothing wrong, beside all that: each of their calls is answered, rightly. */
import { setTimeout as sleep } from 'node:timers/promises'
import { call, type Wire } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'

/** A machine that does much else may be slow; what the gateway itself takes is measured inside of it. */
const WITHIN_MS = 20_000
const PAUSE_MS = 20

export interface GoodCalls {
  calls: number
  slowestMs: number
  readonly wrong: string[]
}

/** Each way calls at least once, and until it is over. */
export async function goodCallers(url: string, isOver: () => boolean): Promise<GoodCalls> {
  const seen: GoodCalls = { calls: 0, slowestMs: 0, wrong: [] }
  const args = { a: 1, b: 2 }
  const session = await RawSession.begin(url)
  const ways: Readonly<Record<string, () => Promise<Wire>>> = {
    'without a session, at /mcp': async () => (await call(url, 'good_add', args)).message,
    'without a session, at its address': async () => (await call(`${url}/good`, 'add', args)).message,
    'a process, without a session': async () => (await call(url, 'steady_add', args)).message,
    'in a session': async () => (await (await session.call('good_add', args)).rest()).at(-1),
    'a process, in a session': async () => (await (await session.call('steady_add', args)).rest()).at(-1),
  }
  const loop = async (way: string, ask: () => Promise<Wire>): Promise<void> => {
    do {
      const startedAt = performance.now()
      const late = sleep(WITHIN_MS, 'no answer')
      const got = await Promise.race([ask().catch(String), late])
      seen.calls++
      seen.slowestMs = Math.max(seen.slowestMs, performance.now() - startedAt)
      if (got?.result?.content?.[0]?.text !== '3') seen.wrong.push(`${way}: ${JSON.stringify(got)?.slice(0, 500)}`)
      await sleep(PAUSE_MS)
    } while (!isOver())
  }
  await Promise.all(Object.entries(ways).map(([way, ask]) => loop(way, ask)))
  return seen
}
