import { describe, expect, test, vi } from 'vitest'
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

describe('a search for publishers', () => {
  /** An inbox over a table with these publishers; the first searches fail. */
  function searchingInbox(failures: number) {
    let newest = 1
    const publishers = vi.fn(async () => {
      if (failures-- > 0) throw new Error('away')
      return [{ publisher: PUBLISHER, newest }]
    })
    const read = vi.fn(async (_: string, after: number) => ({
      events: [{ number: after + 1, text: 'null' }],
      isFull: false,
    }))
    const table = { isClosed: false, publishers, read } as unknown as BusTable
    const inbox = new Inbox(table, () => {})
    inbox.start()
    return { inbox, publishers, read, publish: () => void newest++ }
  }

  test('that fails is made again', async () => {
    const { inbox, publishers, read } = searchingInbox(1)
    inbox.readAll()
    await turn()
    expect([publishers.mock.calls.length, read.mock.calls.length]).toEqual([1, 0])
    inbox.retry()
    await vi.waitFor(() => expect([publishers.mock.calls.length, read.mock.calls.length]).toEqual([2, 1]))
    inbox.close()
  })

  test('reads from those who have something new, and only from them', async () => {
    const { inbox, read, publish } = searchingInbox(0)
    inbox.readAll()
    await vi.waitFor(() => expect(read).toHaveBeenCalledTimes(1))
    await turn()
    inbox.readAll()
    await turn()
    expect(read).toHaveBeenCalledTimes(1)
    publish()
    inbox.readAll()
    await vi.waitFor(() => expect(read.mock.calls.map(([, after]) => after)).toEqual([0, 1]))
    inbox.close()
  })

  test('after a publisher was forgotten begins with its first event, and none is forgotten while its events live', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const { inbox, read } = searchingInbox(0)
      inbox.readAll()
      await turn()
      expect(read).toHaveBeenCalledTimes(1)
      vi.advanceTimersByTime(240_000)
      inbox.forgetOld()
      inbox.readAll()
      await turn()
      expect(read).toHaveBeenCalledTimes(1)
      vi.advanceTimersByTime(1)
      inbox.forgetOld()
      inbox.readAll()
      await turn()
      expect(read.mock.calls.map(([, after]) => after)).toEqual([0, 0])
      inbox.close()
    } finally {
      vi.useRealTimers()
    }
  })
})

test('a publisher whose name is none is not read from, nor is anything by an inbox that is closed', async () => {
  const { inbox, read } = failingInbox(0)
  inbox.readFrom('no publisher')
  await turn()
  inbox.close()
  inbox.readFrom(PUBLISHER)
  await turn()
  expect(read).not.toHaveBeenCalled()
})
