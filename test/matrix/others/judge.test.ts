import { expect, test } from 'vitest'
import type { Behaviour } from '../behaviours.ts'
import { Heard } from '../clients/client.ts'
import type { Effect } from '../fleet/effects.ts'
import type { Victim } from '../faults.ts'
import type { CallEnd, Outcome } from '../verdict.ts'
import { type Fate, fatesOf } from './judge.ts'

const limits = { timeoutMs: 1000, hungAfterMs: 2000 }
const right: CallEnd = { kind: 'result', isRight: true, result: { content: [{ text: 'ok' }] } }
const wrong: CallEnd = { kind: 'result', isRight: false, result: { content: [{ text: 'bad' }] } }
const failed: CallEnd = { kind: 'result', isRight: false, result: { content: [{ text: 'Sorry' }], isError: true } }
const error = (message: string): CallEnd => ({ kind: 'error', message })

interface Case {
  readonly of: string
  readonly end: CallEnd
  readonly fates: readonly Fate[]
  readonly ms?: number
  readonly victim?: Victim
  readonly behaviour?: Partial<Behaviour>
  readonly effects?: readonly string[]
}

const CASES: readonly Case[] = [
  { of: 'the right result', end: right, fates: ['right'] },
  { of: 'a wrong result', end: wrong, fates: ['wrong'] },
  { of: 'an error of any wording when the gateway was killed', end: error('Oh.'), victim: 'holder', fates: ['told'] },
  { of: 'an error as a result when the server was killed', end: failed, victim: 'server', fates: ['told'] },
  { of: 'an error when only the other client was killed', end: error('Oh.'), victim: 'client', fates: ['bystander'] },
  { of: 'the time limit of the client', end: error('Request timed out'), ms: 1001, fates: ['silent'] },
  { of: 'a limit of the gateway, in time', end: error('Request timed out'), ms: 500, fates: ['told'] },
  { of: 'no end at all', end: { kind: 'hung' }, fates: ['silent'] },
  { of: 'a client that was killed', end: { kind: 'killed' }, victim: 'client', fates: [] },
  { of: 'a call that was done twice', end: right, effects: ['began', 'done', 'done'], fates: ['right', 'doubled'] },
  {
    of: 'a call that may be done twice',
    end: right,
    effects: ['done', 'done'],
    behaviour: { mayRepeat: true },
    fates: ['right'],
  },
  { of: 'what belongs to the other', end: error('bob-1- was here'), victim: 'server', fates: ['told', 'crossed'] },
  {
    of: 'a cancelled call whose tool heard of it',
    end: error('aborted'),
    behaviour: { isCancelled: true },
    effects: ['began', 'cancelled'],
    fates: ['right'],
  },
  {
    of: 'a cancelled call whose tool went on',
    end: error('aborted'),
    behaviour: { isCancelled: true },
    effects: ['began'],
    fates: ['wrong'],
  },
]

test.each(CASES)('$of counts as $fates', ({ end, ms = 1, victim, behaviour, effects = [], fates }) => {
  const done = effects.map((what): Effect => ({ what, pid: 1 }))
  const outcome = (key: string, of: CallEnd): Outcome => ({
    caller: key,
    key,
    end: of,
    ms,
    heard: new Heard(),
    effects: [],
  })
  const judged = {
    behaviour: { tool: 'plain', isRight: () => true, ...behaviour },
    victim,
    limits,
    effectsOf: (key: string) => (key === 'ann-1-' ? done : []),
  }
  const outcomes = [outcome('ann-1-', end), outcome('bob-1-', { kind: 'killed' })]
  expect(fatesOf(outcomes, judged)).toEqual(fates)
})
