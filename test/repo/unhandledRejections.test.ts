import { createServer } from 'pannier/server'
import { expect, test } from 'vitest'
import { GivenPromises } from '../../src/journal/givenPromises.ts'
import { Declined } from '../../src/journal/index.ts'
import { roundEnded } from '../../src/journal/roundLifecycle.ts'
import { ServerError } from '../../src/server/errors.ts'
import { throwUnhandled } from '../unhandledRejections.ts'

test('one listener throws what nobody hears, also where a server is open', () => {
  createServer({ name: 'open', version: '1.0.0' }).fetchHandler()
  const listeners = process.listeners('unhandledRejection').filter(({ name }) => name === throwUnhandled.name)
  expect(listeners).toHaveLength(1)
})

test.each([
  new Error('Nobody hears this.'),
  'only a text',
  undefined,
  new ServerError('SESSION_UNKNOWN', 'There is no such session.'),
])('a rejection with %s is thrown', (reason) => {
  let thrown: unknown = 'nothing'
  try {
    throwUnhandled(reason, Promise.resolve())
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBe(reason)
})

test('a question may reject and nobody hears it: the end of a round, or an error that its context gave', async () => {
  expect(() => throwUnhandled(roundEnded, Promise.resolve())).not.toThrow()
  const declined = new Declined('agree', 'decline')
  expect(() => throwUnhandled(declined, Promise.resolve())).toThrow(declined)
  const given = new GivenPromises({ lost() {} }).give('the question "agree"', Promise.reject(declined))
  await expect(given).rejects.toBe(declined)
  expect(() => throwUnhandled(declined, Promise.resolve())).not.toThrow()
  expect(() => throwUnhandled('only a text', given)).not.toThrow()
})
