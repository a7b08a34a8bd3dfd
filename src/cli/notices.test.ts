import { expect, test } from 'vitest'
import type { Display } from './display.ts'
import { noticesOf } from './notices.ts'

test('what a process said last is told once and in its order, though it was started twice', () => {
  const told: string[] = []
  const display = { note: (text: string) => void told.push(text) } as Display
  const notices = noticesOf(display, false)
  const said = [...Array.from({ length: 15 }, (_, n) => `line ${n}`), 'the end']
  for (const line of [...said, ...said]) notices.hear({ kind: 'stderr', line })
  expect(told).toEqual([])
  notices.tellLast()
  expect(told).toEqual(said.map((line) => `server: ${line}`))
})
