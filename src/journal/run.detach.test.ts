/** How a run leaves its request: as a task, or for good. */
import { describe, expect, test } from 'vitest'
import { Declined } from './errors.ts'
import { type AnsweredBy, newJournal } from './journal.ts'
import { Run, type RunOptions } from './run.ts'

const ledger: RunOptions['ledger'] = {
  claim: async () => ({ state: 'fresh' }),
  settle: async () => {},
  release: async () => {},
}

function begin(options: Partial<RunOptions> = {}) {
  const [late, lost] = [[] as string[], [] as unknown[]]
  const journal = newJournal('call')
  const run = new Run(
    () => ({
      journal,
      ledger,
      shared: { ledger, scope: () => 'everyone', caller: () => undefined },
      responses: {},
      assertAskable: () => {},
      shedding: () => 'no',
      maxAsks: 3,
      unwindMs: 1000,
      onStuck: () => {},
      onLate: (what) => void late.push(what),
      onRefused: () => {},
      onChanging: () => {},
      onLost: (what, error) => void lost.push([what, error]),
      ...options,
    }),
    setImmediate,
  )
  return { run, journal, late, lost }
}

describe('detaching', () => {
  test('ends the round of a call that can become a task, and the handler does not go on', async () => {
    const { run } = begin({ detachable: true })
    const log: string[] = []
    const outcome = await run.execute(async () => {
      try {
        await run.detach()
        log.push('went on')
      } finally {
        log.push('unwound')
      }
    })
    expect([outcome, log]).toEqual([{ kind: 'detached' }, ['unwound']])
  })

  test('does nothing in a call that cannot, or is one already', async () => {
    for (const options of [{}, { detachable: false }]) {
      const { run } = begin(options)
      const outcome = await run.execute(async () => {
        await run.detach()
        return 'went on'
      })
      expect(outcome).toEqual({ kind: 'complete', value: 'went on' })
    }
  })

  test('inside a step, or after the end, is an error', async () => {
    const { run } = begin({ detachable: true })
    expect(await run.execute(() => run.step('s', () => run.detach()))).toMatchObject({ error: { code: 'ASK_IN_STEP' } })
    await expect(run.detach()).rejects.toMatchObject({ code: 'SCOPE_CLOSED' })
  })
})

const [ann, mia] = ['ann', 'mia'].map((id) => ({ id, subject: id, claims: {} })) as [AnsweredBy, AnsweredBy]

test('who answered a question is whom the journal names, else the caller, and nobody where there is no answer', () => {
  const { run, journal } = begin()
  journal.answers.set('a', { question: 'A?', response: {}, by: mia })
  journal.answers.set('b', { question: 'B?', response: {} })
  expect(['a', 'b', 'c'].map((key) => run.answererOf(key, ann))).toEqual([mia, ann, undefined])
})

test('what comes after the answer is reported once', async () => {
  const { run, late } = begin()
  await run.execute(() => {
    expect(run.isOpen('ctx.log')).toBe(true)
    return 'done'
  })
  expect([run.isOpen('ctx.progress'), run.isOpen('ctx.log'), late]).toEqual([false, false, ['ctx.progress']])
})

test('a round that has ended is not open while its handler unwinds, and that is not late', async () => {
  const { run, late } = begin({ detachable: true })
  let isOpen: boolean | undefined
  await run.execute(() => run.detach().finally(() => (isOpen = run.isOpen('ctx.log'))))
  expect([isOpen, late]).toEqual([false, []])
})

test('what nobody waited for is reported, and our own errors are not', () => {
  const { run, lost } = begin()
  const error = new Error('x')
  run.lost('the step "a"', error)
  run.lost('the question "b"', new Declined('b', 'decline'))
  expect(lost).toHaveLength(1)
  expect(lost[0]).toEqual(['the step "a"', error])
})

test('a handler that throws at once, or returns no promise, is a round like others', async () => {
  const failing = begin()
  const error = new Error('x')
  const outcome = await failing.run.execute(() => {
    throw error
  })
  expect(outcome).toEqual({ kind: 'failed', error })
  expect(await begin().run.execute(() => 5)).toEqual({ kind: 'complete', value: 5 })
})
