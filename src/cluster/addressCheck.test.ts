import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AddressCheck } from './addressCheck.ts'
import { Self } from './instance.ts'
import type { Delivery } from './messenger.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** A check whose messages arrive, or not, as the list says; after it, as its last entry. */
function begin(arrives: readonly boolean[], letGo = async () => {}) {
  const self = new Self('http://10.0.0.7:3000/mcp')
  const log: string[] = []
  let sent = 0
  const send = async (to: { id: string; url: string | undefined }): Promise<Delivery> => {
    expect(to).toEqual({ id: self.id, url: 'http://10.0.0.7:3000/mcp' })
    if (!(arrives[sent++] ?? arrives.at(-1))) return { kind: 'gone', why: 'refused' }
    const cancel = async (): Promise<void> => {
      await letGo()
      log.push('let go')
    }
    return { kind: 'delivered', response: new Response(new ReadableStream({ cancel })) }
  }
  const tell = (level: string) => (fields: object) => void log.push(`${level} ${JSON.stringify(fields)}`)
  const logger = { debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') }
  const check = new AddressCheck({ self, messenger: { send }, logger: () => logger })
  return { self, check, log, sent: () => sent }
}

const advertise = 'http://10.0.0.7:3000/mcp'

/** How many messages are sent in the next hour. Timers of other files in this process do not matter. */
async function sentLater(sent: () => number): Promise<number> {
  const before = sent()
  await vi.advanceTimersByTimeAsync(3_600_000)
  return sent() - before
}

test('an instance that reaches itself three times keeps its address, and lets go of each reply', async () => {
  const slowly = () => new Promise<void>((resolve) => void setImmediate(resolve))
  const { self, check, log, sent } = begin([true], slowly)
  await check.check()
  log.push('checked')
  expect([self.url, sent(), log]).toEqual([advertise, 3, ['let go', 'let go', 'let go', 'checked']])
  expect(await sentLater(sent)).toBe(0)
})

test('one that does not has none, says so once, and has it again when it reaches itself', async () => {
  const { self, check, log, sent } = begin([true, true, false, false, true, false, true])
  await check.check()
  expect([self.url, sent()]).toEqual([undefined, 3])
  expect(log.splice(0)).toEqual(['let go', 'let go', `warn ${JSON.stringify({ advertise, why: 'refused' })}`])
  await vi.advanceTimersByTimeAsync(999)
  expect(sent()).toBe(3)
  await vi.advanceTimersByTimeAsync(1)
  expect([sent(), self.url]).toEqual([4, undefined])
  await vi.advanceTimersByTimeAsync(1000)
  expect([sent(), self.url]).toEqual([6, undefined])
  await vi.advanceTimersByTimeAsync(1000)
  expect([sent(), self.url]).toEqual([9, advertise])
  expect(log.at(-1)).toBe(`info ${JSON.stringify({ advertise })}`)
  expect(await sentLater(sent)).toBe(0)
})

test('it is looked for again for a minute', async () => {
  const { self, check, sent } = begin([false])
  await check.check()
  expect([await sentLater(sent), self.url]).toEqual([60, undefined])
})
