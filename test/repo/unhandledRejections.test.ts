import { createServer } from 'pannier/server'
import { expect, test } from 'vitest'
import { Declined, JournalError } from '../../src/journal/index.ts'
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
    throwUnhandled(reason)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBe(reason)
})

test.each([
  roundEnded,
  new Declined('agree', 'decline'),
  new JournalError('SCOPE_CLOSED', 'The scope is closed.'),
  new ServerError('PUSH_UNANSWERED', 'The client has gone.'),
])('a question may reject with %s and nobody to hear it', (reason) => {
  expect(() => throwUnhandled(reason)).not.toThrow()
})
