import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { ServerFault } from '../layer/ownRequests.ts'
import type { Answered } from '../questions/answerAll.ts'
import type { TaskDialect } from './dialects.ts'
import { TaskPoller } from './poller.ts'
import { MAX_TRIES } from './schedule.ts'
import type { Task } from './task.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const at = (second: number): string => `2026-07-28T00:00:0${second}.000Z`
const roots = { method: 'roots/list' } as const

function task(more: Partial<Task> = {}): Task {
  return { taskId: 'one', status: 'working', ttlMs: null, pollIntervalMs: 1000, lastUpdatedAt: at(1), ...more }
}

const completed = (more: Partial<Task> = {}): Task => task({ status: 'completed', result: { content: [] }, ...more })
const asking = (...keys: string[]): Task =>
  task({ status: 'input_required', inputRequests: Object.fromEntries(keys.map((key) => [key, roots])) })

type PollerOptions = ConstructorParameters<typeof TaskPoller>[1]

/** A poller whose server shows these tasks one after the other, and the last one from then on. */
function pollerOf(tasks: readonly (Task | Error)[], options: Partial<PollerOptions> = {}) {
  const [shown, log, changes] = [[...tasks], [] as string[], [] as Task[]]
  let wake = (): void => {}
  const follow = vi.fn<TaskDialect['follow']>(async () => {
    const [next = task()] = shown.length > 1 ? shown.splice(0, 1) : shown
    log.push('follow')
    if (next instanceof Error) throw next
    return next
  })
  const answer = vi.fn<TaskDialect['answer']>(async (answers) => {
    await Promise.resolve()
    log.push(`answer ${Object.keys(answers).join()}`)
  })
  const dialect: TaskDialect = { taskId: 'one', read: follow, follow, answer, cancel: async () => {} }
  const poller = new TaskPoller(
    (onChange) => {
      wake = onChange
      return dialect
    },
    {
      maxRounds: 3,
      patienceMs: 3_600_000,
      onChange: (changed) => changes.push(changed),
      ask: () => undefined,
      ...options,
    },
  )
  return { poller, follow, answer, log, changes, wake: () => wake() }
}

/** Lets the time pass until the promise is settled. */
async function passed<T>(promise: Promise<T>): Promise<T> {
  const settled = vi.fn<() => void>()
  promise.then(settled, settled)
  for (let n = 0; n < 200 && settled.mock.calls.length === 0; n++) await vi.advanceTimersByTimeAsync(1000)
  return promise
}

/** What the promise is settled with before any time passes. */
async function soon<T>(promise: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error('It takes time.')), 1)
  })
  const first = Promise.race([promise, late])
  first.catch(() => {})
  await vi.advanceTimersByTimeAsync(1)
  return first
}

const isCompleted = { kind: 'completed', result: { content: [], resultType: 'complete' } }
const unknownTask = (): ServerFault => new ServerFault({ code: -32602, message: 'There is no such task.' })

describe('polling', () => {
  test('waits for the interval that the server wishes, or for a wake-up', async () => {
    const { poller, follow, wake } = pollerOf([task(), task(), task(), completed()])
    const running = poller.run(undefined)
    await vi.advanceTimersByTimeAsync(999)
    expect(follow).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(follow).toHaveBeenCalledTimes(2)
    poller.pollNow()
    await vi.advanceTimersByTimeAsync(0)
    expect(follow).toHaveBeenCalledTimes(3)
    await vi.advanceTimersByTimeAsync(999)
    expect(follow).toHaveBeenCalledTimes(3)
    wake()
    await vi.advanceTimersByTimeAsync(0)
    expect(await running).toEqual(isCompleted)
  })

  test('of a server that wishes nothing begins quickly, and the pauses grow', async () => {
    const { pollIntervalMs: _, ...wishing } = task()
    const { poller, follow } = pollerOf([wishing, wishing, completed()])
    const running = poller.run(undefined)
    const polls: number[] = []
    for (let n = 0; n < 3; n++) {
      await vi.advanceTimersByTimeAsync(250)
      polls.push(follow.mock.calls.length)
    }
    expect([polls, await running]).toEqual([[2, 2, 3], isCompleted])
  })

  test('leaves no timer behind a wake-up', async () => {
    const { poller } = pollerOf([completed()])
    const running = poller.run(task({ pollIntervalMs: 60_000 }))
    await vi.advanceTimersByTimeAsync(0)
    poller.pollNow()
    await vi.advanceTimersByTimeAsync(0)
    expect([await running, vi.getTimerCount()]).toEqual([isCompleted, 0])
  })

  test('begins at once where the call was answered with a task that has more to tell', async () => {
    const { poller } = pollerOf([completed()])
    const running = poller.run(task({ status: 'completed' }))
    await vi.advanceTimersByTimeAsync(0)
    expect(await running).toEqual(isCompleted)
  })

  test('ends at once when nobody follows the task any more, and so do its requests', async () => {
    const { poller, follow } = pollerOf([task()])
    const running = poller.run(undefined)
    await vi.advanceTimersByTimeAsync(0)
    poller.stop()
    await expect(running).rejects.toThrow('The task is no longer followed.')
    expect([follow.mock.calls.length, vi.getTimerCount(), follow.mock.calls[0]?.[0].aborted]).toEqual([1, 0, true])
  })

  test('tells each change that somebody could see, and nothing twice', async () => {
    const seen = [
      task(),
      task({ lastUpdatedAt: at(2) }),
      task({ statusMessage: 'Half.' }),
      task({ statusMessage: 'Half.', progress: { progress: 1 } }),
      task({ statusMessage: 'Half.', progress: { progress: 1, total: 2 } }),
      task({ statusMessage: 'Half.', progress: { progress: 2, total: 2 } }),
      task({ statusMessage: 'Half.', progress: { progress: 2, total: 2 } }),
      completed({ statusMessage: 'Half.', progress: { progress: 2, total: 2 } }),
    ]
    const { poller, changes } = pollerOf(seen)
    await passed(poller.run(undefined))
    expect(changes).toEqual([0, 2, 3, 4, 5, 7].map((n) => seen[n]))
  })
})

describe('the end', () => {
  test('a result that is none, an error that is none and a cancelled task are errors', async () => {
    const failed = task({ status: 'failed' })
    await expect(passed(pollerOf([failed]).poller.run(undefined))).rejects.toMatchObject({ code: 'TASK_INVALID' })
    const cancelled = task({ status: 'cancelled' })
    await expect(passed(pollerOf([cancelled]).poller.run(undefined))).rejects.toMatchObject({ code: 'TASK_CANCELLED' })
    const error = { code: 7, message: 'No.' }
    expect(await passed(pollerOf([{ ...failed, error }]).poller.run(undefined))).toEqual({ kind: 'failed', error })
  })

  test('when the time is over, the task is looked at once more', async () => {
    const late = pollerOf([task({ ttlMs: 1500 }), task({ ttlMs: 1500 }), completed({ ttlMs: 1500 })])
    expect(await passed(late.poller.run(undefined))).toEqual(isCompleted)
    expect(late.follow).toHaveBeenCalledTimes(3)
    const expired = pollerOf([task({ ttlMs: 1500 })])
    await expect(passed(expired.poller.run(undefined))).rejects.toMatchObject({ code: 'TASK_EXPIRED' })
    const impatient = pollerOf([task()], { patienceMs: 1500 })
    await expect(passed(impatient.poller.run(undefined))).rejects.toMatchObject({ code: 'TASK_UNFINISHED' })
    expect([expired, impatient].map(({ follow }) => follow.mock.calls.length)).toEqual([3, 3])
  })

  test('a task that the server does not know any more has expired if its time was over, and not otherwise', async () => {
    const expired = pollerOf([task({ ttlMs: 500 }), unknownTask()])
    await expect(passed(expired.poller.run(undefined))).rejects.toMatchObject({ code: 'TASK_EXPIRED' })
    const lost = pollerOf([task({ ttlMs: 500_000 }), unknownTask()])
    await expect(passed(lost.poller.run(undefined))).rejects.toBeInstanceOf(ServerFault)
    await expect(passed(pollerOf([unknownTask()]).poller.run(undefined))).rejects.toBeInstanceOf(ServerFault)
    const other = pollerOf([task({ ttlMs: 500 }), new ServerFault({ code: -32000, message: 'No.' })])
    await expect(passed(other.poller.run(undefined))).rejects.toBeInstanceOf(ServerFault)
  })

  test('failures that may pass are tried again after pauses, a bounded number of times; others are not', async () => {
    const busy = Object.assign(new Error('busy'), { status: 503 })
    const back = pollerOf([...Array.from({ length: MAX_TRIES - 1 }, () => busy), completed()])
    const running = back.poller.run(undefined)
    await vi.advanceTimersByTimeAsync(0)
    expect(back.follow).toHaveBeenCalledOnce()
    expect(await passed(running)).toEqual(isCompleted)
    const gone = pollerOf([busy])
    await expect(passed(gone.poller.run(undefined))).rejects.toMatchObject({ code: 'TASK_UNREACHABLE', cause: busy })
    expect(gone.follow).toHaveBeenCalledTimes(MAX_TRIES)
    const forbidden = Object.assign(new Error('forbidden'), { status: 403 })
    const refused = pollerOf([forbidden])
    await expect(passed(refused.poller.run(undefined))).rejects.toMatchObject({
      code: 'TASK_UNREACHABLE',
      cause: forbidden,
    })
    expect(refused.follow).toHaveBeenCalledOnce()
  })
})

describe('questions', () => {
  const answeredBy =
    (ask: () => Promise<Answered>): PollerOptions['ask'] =>
    () =>
      ask()
  const answers: Readonly<Record<string, Json>> = { a: { roots: [] } }

  test('that the caller answers itself end the following', async () => {
    const { poller } = pollerOf([asking('a')])
    expect(await passed(poller.run(undefined))).toEqual({ kind: 'asks', questions: [['a', roots]] })
  })

  test('are answered once, however often the task shows them', async () => {
    const ask = vi.fn<PollerOptions['ask']>(async () => ({ answers, open: {} }))
    const { poller, answer } = pollerOf([asking('a'), asking('a'), completed()], { ask })
    expect(await passed(poller.run(undefined))).toEqual(isCompleted)
    expect([ask.mock.calls.length, answer.mock.calls.map(([sent]) => sent)]).toEqual([1, [answers]])
  })

  test('of the last round that is allowed are asked, and no more', async () => {
    const ask: PollerOptions['ask'] = async ([[key] = ['']]) => ({ answers: { [key]: {} }, open: {} })
    const enough = pollerOf([asking('a'), asking('b'), asking('c'), completed()], { ask })
    expect(await passed(enough.poller.run(undefined))).toEqual(isCompleted)
    const endless = pollerOf([asking('a'), asking('b'), asking('c'), asking('d')], { ask })
    await expect(passed(endless.poller.run(undefined))).rejects.toMatchObject({ code: 'ROUNDS_ENDLESS' })
  })

  test('that are left for later end the following at once, and nothing is sent', async () => {
    const round = { answers, open: { b: { request: roots, later: new Error('later') as never } } }
    const { poller, answer } = pollerOf([asking('a', 'b')], { ask: answeredBy(async () => round) })
    const running = poller.run(undefined)
    await vi.advanceTimersByTimeAsync(0)
    expect(await running).toEqual({ kind: 'suspended', round })
    expect(answer).not.toHaveBeenCalled()
  })

  test('that cannot be answered fail the call at once, with the cause', async () => {
    const cause = new Error('no terminal')
    const broken = pollerOf([asking('a')], { ask: answeredBy(() => Promise.reject(cause)) }).poller.run(undefined)
    await expect(soon(broken)).rejects.toMatchObject({ code: 'ANSWER_FAILED', cause })
    const own = new ClientError('TERMINAL_MISSING', 'No.')
    const unable = pollerOf([asking('a')], { ask: answeredBy(() => Promise.reject(own)) }).poller.run(undefined)
    await expect(soon(unable)).rejects.toBe(own)
  })

  test.each(['an answer', 'a failure'])(
    'that somebody else answered meanwhile: %s counts for nothing',
    async (what) => {
      let settle = (): void => {}
      const asked = new Promise<Answered>((resolve, reject) => {
        settle = () => (what === 'an answer' ? resolve({ answers, open: {} }) : reject(new Error('withdrawn')))
      })
      const { poller, answer, follow } = pollerOf([asking('a'), task(), task(), completed()], { ask: () => asked })
      const running = poller.run(undefined)
      await vi.advanceTimersByTimeAsync(1000)
      expect(follow).toHaveBeenCalledTimes(2)
      settle()
      expect(await passed(running)).toEqual(isCompleted)
      expect(answer).not.toHaveBeenCalled()
    },
  )

  test('that were answered elsewhere: the answers are sent before the task is looked at', async () => {
    const { poller, log } = pollerOf([completed()])
    await passed(poller.run(undefined, answers))
    expect(log).toEqual(['answer a', 'follow'])
  })

  test('whose answer the task does not want any more change nothing; another refusal fails the call', async () => {
    const late = pollerOf([completed()])
    late.answer.mockRejectedValue(unknownTask())
    expect(await passed(late.poller.run(undefined, answers))).toEqual(isCompleted)
    const refused = pollerOf([completed()])
    refused.answer.mockRejectedValue(new ServerFault({ code: -32000, message: 'No.' }))
    await expect(passed(refused.poller.run(undefined, answers))).rejects.toBeInstanceOf(ServerFault)
  })
})
