import { expect, test } from 'vitest'
import { newJournal, Run, type RunOptions, type Watch } from './index.ts'
import type { Question } from './question.ts'

const ledger: RunOptions['ledger'] = {
  claim: async () => ({ state: 'fresh' }),
  settle: async () => {},
  release: async () => {},
}

const question: Question<never> = {
  request: { method: 'roots/list' },
  fingerprint: 'q',
  pinned: true,
  read: () => ({ ok: false }),
}

test('who watches a run sees the steps that run and not those that are replayed, and when the round ends', async () => {
  const journal = newJournal('call')
  const seen: string[] = []
  const watch: Watch = {
    step: (kind, key, work) => {
      seen.push(`${kind} ${key}`)
      return work()
    },
    ended: () => void seen.push('ended'),
  }
  const play = () => {
    const run = new Run(
      () => ({
        journal,
        watch,
        ledger,
        shared: { ledger, scope: () => 'everyone', caller: () => undefined },
        responses: {},
        assertAskable: () => {},
        maxAsks: 5,
        shedding: () => 'no',
        unwindMs: 100,
        onStuck: () => {},
        onLate: () => {},
        onRefused: () => {},
        onChanging: () => {},
        onLost: () => {},
      }),
      setImmediate,
    )
    return run.execute(async () => {
      expect(await run.step('a', () => 1)).toBe(1)
      expect(await run.once('b', async () => 2)).toBe(2)
      try {
        await run.ask('q', question)
      } finally {
        seen.push('unwinding')
      }
    })
  }
  await play()
  expect(seen).toEqual(['step a', 'once b', 'ended', 'unwinding'])
  await play()
  expect(seen.slice(4)).toEqual(['ended', 'unwinding'])
})
