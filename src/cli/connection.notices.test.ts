import { expect, test } from 'vitest'
import { ClientError } from '../client/index.ts'
import type { Display } from './output/display.ts'
import { noticesOf } from './connection.ts'

test('what a process said last is told once and in its order, though it was started twice', () => {
  const told: string[] = []
  const display = { note: (text: string) => void told.push(text) } as Display
  const notices = noticesOf(display, false)
  const said = [...Array.from({ length: 15 }, (_, n) => `line ${n}`), 'the end']
  for (const line of [...said, ...said]) notices.onNotice({ kind: 'stderr', line })
  expect(told).toEqual([])
  notices.showLast()
  expect(told).toEqual(said.map((line) => `server: ${line}`))
})

test.each([false, true])('why there was no answer is told once, whatever else is told (verbose: %s)', (verbose) => {
  const told: string[] = []
  const notices = noticesOf({ note: (text: string) => void told.push(text) } as Display, verbose)
  const error = new ClientError('QUESTION_UNANSWERED', 'Nobody knows.')
  for (let time = 0; time < 2; time++) notices.onNotice({ kind: 'error', error })
  expect(told).toEqual(['note: Nobody knows.'])
})
