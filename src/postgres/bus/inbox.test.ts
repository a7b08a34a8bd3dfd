import { expect, test, vi } from 'vitest'
import type { ServerEvent } from '../../server/index.ts'
import type { BusTable } from './busTable.ts'
import { Inbox } from './inbox.ts'

const PUBLISHER = '00000000-0000-4000-8000-000000000000'

/** An inbox over a table that has an event more with each statement, of which the first ones fail. */
function failingInbox(failures: number) {
  let number = 0
  const read = vi.fn(async () => {
    if (failures-- > 0) throw new Error('away')
    return {
      events: [{ number: ++number, text: JSON.stringify({ kind: 'updated', uri: `${number}` }) }],
      isFull: false,
    }
  })
  const uris: string[] = []
  const deliver = (event: ServerEvent): void => void (event.kind === 'updated' && uris.push(event.uri))
  const table = { isClosed: false, publishers: async () => [], read } as unknown as BusTable
  const inbox = new Inbox(table, deliver)
  inbox.start()
  return { inbox, read, uris }
}

/** Until everything that is ready has run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test.each([
  ['by itself', () => {}],
  ['when it is told to', (inbox: Inbox) => inbox.retry()],
])('after a failed statement was tried again %s, the next notification is followed at once', async (_, again) => {
  const { inbox, read, uris } = failingInbox(1)
  inbox.readFrom(PUBLISHER)
  await vi.waitFor(() => expect(read).toHaveBeenCalledTimes(1), 10_000)
  await turn() // until it is known that the statement has failed
  again(inbox)
  await vi.waitFor(() => expect(uris).toEqual(['1']), 10_000)
  inbox.readFrom(PUBLISHER)
  await vi.waitFor(() => expect(uris).toEqual(['1', '2']), 10_000)
  inbox.close()
})

test('while a failed statement waits to be tried again, notifications cause no other', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { inbox, read, uris } = failingInbox(1)
    inbox.readFrom(PUBLISHER)
    await turn()
    for (let count = 0; count < 10; count++) inbox.readFrom(PUBLISHER)
    await turn()
    expect(read).toHaveBeenCalledTimes(1)
    await vi.runAllTimersAsync()
    expect([read.mock.calls.length, uris]).toEqual([2, ['1']])
    inbox.close()
  } finally {
    vi.useRealTimers()
  }
})
