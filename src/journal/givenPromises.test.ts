import { describe, expect, test } from 'vitest'
import { GivenPromises, isGivenRejection } from './givenPromises.ts'
import { roundEnded } from './roundLifecycle.ts'

function begin() {
  const lost: [string, unknown][] = []
  return { given: new GivenPromises({ lost: (what, error) => void lost.push([what, error]) }), lost }
}

const turn = () => new Promise<void>((resolve) => void setImmediate(resolve))
const declined = new Error('declined')

describe('a promise that a handler was given', () => {
  test('and waited for is nothing to tell', async () => {
    const { given, lost } = begin()
    expect(given.isUndecided).toBe(false)
    expect(await given.give('the step "a"', Promise.resolve(1))).toBe(1)
    await turn()
    expect([given.isUndecided, given.returned(), lost]).toEqual([false, [], []])
  })

  test('and did not wait for is told by its name, once for each name', async () => {
    const { given, lost } = begin()
    void given.give('the step "a"', Promise.resolve(1))
    void given.give('the step "a"', Promise.resolve(2))
    void given.give('the question "b"', new Promise(() => {}))
    await turn()
    expect([given.isUndecided, given.returned(), lost]).toEqual([true, ['the step "a"', 'the question "b"'], []])
  })

  test('and waits for when it returns has not been waited for', async () => {
    const { given } = begin()
    void given.give('the step "a"', new Promise(() => {})).then(
      () => {},
      () => {},
    )
    await turn()
    expect(given.returned()).toEqual(['the step "a"'])
  })

  test('and waits for late has been waited for', async () => {
    const { given } = begin()
    const late = given.give('the step "a"', Promise.resolve(1))
    await turn()
    expect([given.isUndecided, await late]).toEqual([true, 1])
    await turn()
    expect([given.isUndecided, given.returned()]).toEqual([false, []])
  })

  test('that rejected where somebody caught it is nothing to tell, but takes a turn to know', async () => {
    const { given, lost } = begin()
    await expect(given.give('the step "a"', Promise.reject(declined))).rejects.toBe(declined)
    await turn()
    expect([given.isUndecided, given.returned(), lost]).toEqual([true, [], []])
  })

  test('that rejected unseen is told with its error, before the return and after it', async () => {
    const before = begin()
    void before.given.give('the step "a"', Promise.reject(declined))
    await turn()
    expect(before.lost).toEqual([])
    expect([before.given.returned(), before.lost]).toEqual([['the step "a"'], [['the step "a"', declined]]])
    const after = begin()
    const { promise, reject } = Promise.withResolvers<void>()
    void after.given.give('the step "a"', promise)
    after.given.returned()
    reject(declined)
    await turn()
    expect(after.lost).toEqual([['the step "a"', declined]])
  })

  test('that rejects after the return, where somebody waits, is theirs', async () => {
    const { given, lost } = begin()
    const { promise, reject } = Promise.withResolvers<void>()
    const waiting = given.give('the step "a"', promise)
    const caught = waiting.then(
      () => 'done',
      () => 'caught',
    )
    given.returned()
    reject(declined)
    expect([await caught, lost]).toEqual(['caught', []])
  })

  test('and what follows from it must be waited for where it can reject', async () => {
    const { given } = begin()
    const follows = given.give('the step "a"', Promise.reject(declined)).then(() => 'never')
    await turn()
    expect(given.returned()).toEqual(['the step "a"'])
    await expect(follows).rejects.toBe(declined)
    const other = begin()
    const last = other.given.give('the step "a"', Promise.reject(declined)).finally(() => {})
    await turn()
    expect(other.given.returned()).toEqual(['the step "a"'])
    await expect(last).rejects.toBe(declined)
  })

  test('and what follows from it must be waited for while it is under way', async () => {
    const { given } = begin()
    void given.give('the step "a"', Promise.resolve(1)).then(() => new Promise(() => {}))
    await turn()
    expect([given.isUndecided, given.returned()]).toEqual([true, ['the step "a"']])
  })

  test('and what follows from it and was fulfilled need not be', async () => {
    const { given } = begin()
    void given.give('the step "a"', Promise.resolve(1)).then(() => 2)
    void given.give('the step "b"', Promise.resolve(1)).finally(() => {})
    await turn()
    expect([given.isUndecided, given.returned()]).toEqual([false, []])
  })
})

describe('a rejection that nobody handles', () => {
  /** Errors that a handler got, told as soon as they are. */
  async function gotten(error: unknown) {
    const { given, lost } = begin()
    await given.give('the step "a"', Promise.reject(error as Error)).catch(() => {})
    return { given, lost }
  }

  test('is of a call where its error came from there, and fails it', async () => {
    const { given, lost } = await gotten(declined)
    expect(isGivenRejection(declined, Promise.resolve())).toBe(true)
    expect([lost, given.returned()]).toEqual([[['the step "a"', declined]], ['the step "a"']])
  })

  test('is of a call where a cause, or one of several errors, came from there', async () => {
    const error = new Error('inner')
    const { lost } = await gotten(error)
    const wrapped = new Error('outer', { cause: error })
    expect(isGivenRejection(wrapped, undefined)).toBe(true)
    expect(isGivenRejection(new AggregateError([new Error('x'), wrapped]), undefined)).toBe(true)
    expect(lost).toHaveLength(2)
    expect(isGivenRejection(new AggregateError([new Error('x'), roundEnded]), undefined)).toBe(true)
  })

  test('is looked into nine causes deep', async () => {
    const error = new Error('inner')
    await gotten(error)
    const wrapped = (times: number): Error =>
      Array.from({ length: times }).reduce<Error>((cause) => new Error('outer', { cause }), error)
    expect([isGivenRejection(wrapped(9), undefined), isGivenRejection(wrapped(10), undefined)]).toEqual([true, false])
  })

  test('of a value that is no object is of a call in the same turn', async () => {
    const { lost } = await gotten('no error')
    await gotten('another')
    expect(isGivenRejection('no error', undefined)).toBe(true)
    expect(lost).toEqual([['the step "a"', 'no error']])
    await new Promise((resolve) => setTimeout(resolve, 1)) // the timer that forgets was set before
    expect(isGivenRejection('no error', undefined)).toBe(false)
    expect(isGivenRejection(null, undefined)).toBe(false)
  })

  test('is ours where it is the end of a round, a given promise, or what a signal aborted', () => {
    const { given, lost } = begin()
    expect(isGivenRejection(roundEnded, undefined)).toBe(true)
    const never = given.give('the step "a"', new Promise(() => {}))
    expect(isGivenRejection(new Error('x'), never)).toBe(true)
    expect(lost).toEqual([])
    const reason = given.abortReason()
    expect([reason.name, isGivenRejection(reason, undefined), lost.length]).toEqual(['AbortError', true, 1])
  })

  test('is none of ours otherwise', () => {
    expect(isGivenRejection(new Error('x', { cause: new Error('y') }), Promise.resolve())).toBe(false)
    expect(isGivenRejection(undefined, undefined)).toBe(false)
  })
})
