import { describe, expect, test } from 'vitest'
import { readBearer, readHeaders, readLogLevel, readMaxRounds, readTimeout } from './client.ts'

const same = (value: string): string => value

test('headers are names and values, with variables put in', () => {
  expect(readHeaders(['X-Key: a:b ', 'Y:'], same)).toEqual({ 'X-Key': 'a:b', Y: '' })
  expect(readHeaders(['X: ${K}'], (value) => value.replace('${K}', 'v'))).toEqual({ X: 'v' })
})

test.each(['hunter2', ': hunter2', 'X Y: hunter2', 'X: hunter2\r\nY: 1', 'X: \u0000hunter2'])(
  'the header %j is refused without its value',
  (line) => {
    expect(() => readHeaders([line], same)).toThrow(/--header/)
    expect(() => readHeaders([line], same)).not.toThrow(/hunter2/)
  },
)

describe('a bearer token', () => {
  test('comes from the environment', () => {
    expect(readBearer('TOKEN', { TOKEN: ' abc.def~+/= \n' })).toBe('abc.def~+/=')
  })

  test.each([undefined, '', '  ', 'hunter2 and more', 'hunter2\u001b'])('that is %j is refused, unseen', (TOKEN) => {
    expect(() => readBearer('TOKEN', { TOKEN })).toThrow(/--bearer-env TOKEN/)
    expect(() => readBearer('TOKEN', { TOKEN })).not.toThrow(/hunter2/)
  })
})

test('times, numbers and levels are checked', () => {
  expect([readMaxRounds(undefined), readMaxRounds('0'), readMaxRounds('250')]).toEqual([undefined, 0, 250])
  for (const bad of ['-1', '1.5', 'many', '1e3', '', '9'.repeat(20)])
    expect(() => readMaxRounds(bad)).toThrow(/--max-rounds/)
  expect([readTimeout(undefined), readTimeout('1.5'), readTimeout('60')]).toEqual([undefined, 1500, 60_000])
  for (const bad of ['0', '-1', 'soon', 'Infinity', '']) expect(() => readTimeout(bad)).toThrow(/--timeout/)
  expect([readLogLevel(undefined), readLogLevel('warning')]).toEqual([undefined, 'warning'])
  expect(() => readLogLevel('loud')).toThrow(/--log-level is one of debug/)
})
