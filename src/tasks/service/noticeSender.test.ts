import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { QuestionNotice, NoticeChannel } from '../../server/index.ts'
import type { DueNotice, NoticeRef, OpenQuestionRecord, TaskEngine } from '../engine.ts'
import { NoticeSender } from './noticeSender.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const question: OpenQuestionRecord = {
  place: 4,
  task: 'delete_1',
  tool: 'delete',
  key: 'sure',
  request: {
    method: 'elicitation/create',
    params: { message: 'Delete it?', requestedSchema: { type: 'object', properties: {} } },
  },
  approvers: undefined,
  askedAt: 1000,
  expiresAt: null,
  isOwner: false,
  caller: { principal: { id: 'i|ann', subject: 'ann' } },
  undelivered: [],
}

function newSender(attempt: number, send: NoticeChannel['send']) {
  const due: DueNotice[] = [{ question, channel: 'desk', attempt }]
  const removed: NoticeRef[] = []
  const postponed: (readonly [NoticeRef, number | undefined])[] = []
  const logged: (readonly [string, object])[] = []
  const note = (level: string) => (details: object) => void logged.push([level, details])
  const notices: TaskEngine['notices'] = {
    claim: async () => due.splice(0),
    remove: async (notice) => void removed.push(notice),
    postpone: async (...given) => void postponed.push(given),
  }
  const counted: unknown[] = []
  const site = {
    channels: [{ name: 'desk', send }],
    server: 'Desk',
    linkTo: async () => 'https://x.example/question/1',
    counted: (...given: unknown[]) => void counted.push(given),
  }
  const logger = () => ({ debug() {}, info() {}, warn: note('warn'), error: note('error') })
  const sender = new NoticeSender({ notices } as unknown as TaskEngine, site, logger)
  return { sender, removed, postponed, logged, counted }
}

const ref = { place: 4, channel: 'desk' }

test('a notice is sent with its link, and then leaves the outbox', async () => {
  const sent: QuestionNotice[] = []
  const { sender, removed } = newSender(1, async (notice) => void sent.push(notice))
  await vi.advanceTimersByTimeAsync(1000)
  await sender.close()
  expect(sent).toEqual([
    {
      id: 'delete_1:sure:desk',
      question: 'delete_1:sure',
      server: 'Desk',
      tool: 'delete',
      caller: 'ann',
      message: 'Delete it?',
      by: undefined,
      link: 'https://x.example/question/1',
      askedAt: 1000,
      expiresAt: null,
      attempt: 1,
    },
  ])
  expect(removed).toEqual([ref])
})

describe('a notice that was not taken', () => {
  const failing = async (): Promise<void> => {
    throw new Error('cannot reach https://hooks.example/T0/secret now')
  }

  test.each([
    [1, 10_000],
    [3, 40_000],
    [12, 3_600_000],
  ])('waits after attempt %i for %i ms, and its log has no address', async (attempt, pause) => {
    const { sender, removed, postponed, logged } = newSender(attempt, failing)
    await sender.send()
    await sender.close()
    expect([removed, postponed]).toEqual([[], [[ref, pause]]])
    expect(logged).toMatchObject([['warn', { channel: 'desk', question: 'delete_1:sure', attempt }]])
    expect(JSON.stringify(logged)).not.toContain('secret')
  })

  test('is given up in the end', async () => {
    const { sender, postponed, logged, counted } = newSender(15, failing)
    await sender.send()
    await sender.close()
    expect(postponed).toEqual([[ref, undefined]])
    expect(logged).toMatchObject([['error', { attempt: 15 }]])
    expect(counted).toEqual([['desk', 'given_up']])
  })
})

describe('a channel that never ends', () => {
  const silent = (): Promise<void> => new Promise(() => {})

  test('has ten seconds for each attempt', async () => {
    const { sender, postponed, logged } = newSender(1, silent)
    const sent = sender.send()
    await vi.advanceTimersByTimeAsync(10_000)
    await sent
    expect(postponed).toEqual([[ref, 10_000]])
    expect(logged).toMatchObject([['warn', { err: { message: 'It was not sent in time.' } }]])
    await sender.close()
  })

  test('keeps no process, and the notice stays claimed', async () => {
    const { sender, removed, postponed, logged } = newSender(1, silent)
    void sender.send()
    const closed = sender.close()
    await vi.advanceTimersByTimeAsync(1000)
    await closed
    expect([removed, postponed, logged]).toEqual([[], [], []])
  })
})
