import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { readPaced } from './pacedReading.ts'

const newSource = () => ({ pause: vi.fn(), resume: vi.fn() })

/** A clock that only reading moves. */
function clock(): (ms: number) => () => void {
  let now = 0
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => spy.mockRestore())
  return (ms) => () => void (now += ms)
}

beforeEach(() => nextTurn())

test('what took long to read is followed by a turn of the event loop, what did not is not', async () => {
  const taking = clock()
  const source = newSource()
  readPaced(source, taking(9))
  expect(source.pause).not.toHaveBeenCalled()
  readPaced(source, taking(1))
  expect(source.pause).toHaveBeenCalledTimes(1)
  expect(source.resume).not.toHaveBeenCalled()
  await nextTurn()
  expect(source.resume).toHaveBeenCalledTimes(1)
  readPaced(source, taking(9))
  expect(source.pause).toHaveBeenCalledTimes(1)
})

test('many sources share the time of a turn', () => {
  const taking = clock()
  const [one, two] = [newSource(), newSource()]
  readPaced(one, taking(6))
  readPaced(two, taking(6))
  expect(one.pause).not.toHaveBeenCalled()
  expect(two.pause).toHaveBeenCalledTimes(1)
})
