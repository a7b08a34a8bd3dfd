import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Asked } from '../questions/answerer.ts'
import { oneAtATime, terminal, type TerminalOptions } from './terminal.ts'

const never = new AbortController().signal

test('tasks for one thing run one after the other, in their order, also after a failure', async () => {
  const thing = {}
  const events: string[] = []
  const run = (name: string, fail = false) =>
    oneAtATime(thing, never, async () => {
      events.push(`${name} begins`)
      await setTimeout(5)
      events.push(`${name} ends`)
      if (fail) throw new Error(name)
      return name
    })
  expect(await Promise.allSettled([run('a'), run('b', true), run('c')])).toMatchObject([
    { value: 'a' },
    { reason: { message: 'b' } },
    { value: 'c' },
  ])
  expect(events).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

test('tasks for two things run at once', async () => {
  const events: string[] = []
  const run = (name: string) =>
    oneAtATime({}, never, async () => {
      events.push(name)
      await setTimeout(5)
      events.push(name)
    })
  await Promise.all([run('a'), run('b')])
  expect(events).toEqual(['a', 'b', 'a', 'b'])
})

test('who gives up in the queue leaves it at once and never runs; the others go on', async () => {
  const thing = {}
  const gone = new AbortController()
  const ran: string[] = []
  const first = oneAtATime(thing, never, () => setTimeout(20, ran.push('first')))
  const second = oneAtATime(thing, gone.signal, async () => ran.push('second'))
  const third = oneAtATime(thing, never, async () => ran.push('third'))
  gone.abort(new Error('not needed'))
  await expect(second).rejects.toThrow('not needed')
  expect(ran).toEqual(['first'])
  await Promise.all([first, third])
  expect(ran).toEqual(['first', 'third'])
  await expect(oneAtATime(thing, gone.signal, async () => ran.push('late'))).rejects.toThrow('not needed')
})

test.each([
  ['to type on', true, false],
  ['to read from', false, true],
  ['at all', false, false],
])('a question without a terminal %s is refused with what to do', async (_, isOutput, isInput) => {
  const streams = { input: { isTTY: isInput }, output: { isTTY: isOutput } }
  const ask = terminal(streams as unknown as TerminalOptions)
  const asked = { key: 'a', request: { method: 'elicitation/create' }, signal: never } as unknown as Asked
  await expect(ask(asked)).rejects.toMatchObject({ code: 'TERMINAL_MISSING' })
})
