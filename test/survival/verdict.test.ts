import { expect, test } from 'vitest'
import { type Call, kindOf } from './verdict.ts'

const OWNER = 1
const OTHER = 2
const result = { kind: 'result', text: 'Ann Ann', isAborted: false, at: 100, reports: [] } as const
const gone = { ...result, kind: 'error', text: 'The instance that ran this call is gone.' } as const
const hung = { ...result, kind: 'hung', text: 'Request timed out' } as const
const aborted = { ...result, kind: 'error', text: 'enough', isAborted: true } as const
const trace = { began: [OWNER], done: 1, cancelled: 0 }
const unfinished = { ...trace, done: 0 }
const passed = { call: [OWNER], cancellation: [] }
const nobody = new Map<number, number>()
const call: Call = { tool: 'ask_twice', end: result, trace, passed, killedAt: nobody }
const cancelled: Call = { ...call, tool: 'cancelled', end: aborted, trace: unfinished }
const cancelledAt = (pid: number) => ({ call: [OWNER], cancellation: [pid] })

test.each<[string, Call, string]>([
  ['a result and one effect', call, 'good'],
  ['a result and no effect', { ...call, trace: unfinished }, 'wrong'],
  ['a result and two effects', { ...call, trace: { ...trace, done: 2 } }, 'doubled'],
  [
    'two effects of a call whose owner was killed',
    { ...call, trace: { ...trace, done: 2 }, killedAt: new Map([[OWNER, 1]]) },
    'doubled',
  ],
  ['no end', { ...call, end: hung }, 'hung'],
  ['no end of a call whose owner was killed', { ...call, end: hung, killedAt: new Map([[OWNER, 1]]) }, 'hung'],
  ['no end of a call that never began', { ...call, end: hung, trace: undefined }, 'hung'],
  ['an error, while the owner lives', { ...call, end: gone }, 'wrong'],
  ['an error, while another instance was killed', { ...call, end: gone, killedAt: new Map([[OTHER, 1]]) }, 'wrong'],
  ['an error before the owner was killed', { ...call, end: gone, killedAt: new Map([[OWNER, 101]]) }, 'wrong'],
  ['an error after the owner was killed', { ...call, end: gone, killedAt: new Map([[OWNER, 99]]) }, 'lost'],
  [
    'an error that does not say so',
    { ...call, end: { ...gone, text: 'No.' }, killedAt: new Map([[OWNER, 99]]) },
    'wrong',
  ],
  ['an error of a call that never began at a living instance', { ...call, end: gone, trace: undefined }, 'wrong'],
  [
    'an error of a call that went to one that was killed',
    { ...call, end: gone, trace: undefined, killedAt: new Map([[OWNER, 99]]) },
    'lost',
  ],
  ['a cancellation that was noticed', { ...cancelled, trace: { ...unfinished, cancelled: 1 } }, 'good'],
  ['a cancellation that was not noticed', { ...cancelled, passed: cancelledAt(OTHER) }, 'wrong'],
  [
    'a cancellation that went to an instance that was killed',
    { ...cancelled, passed: cancelledAt(OTHER), killedAt: new Map([[OTHER, 99]]) },
    'lost',
  ],
])('%s', (_, judged, kind) => {
  expect(kindOf(judged)).toBe(kind)
})
