import { expect, test } from 'vitest'
import { TaskError } from '../tasks/internal.ts'
import { withPostgresErrors } from './errors.ts'

async function thrown(error: unknown): Promise<unknown> {
  return withPostgresErrors(() => Promise.reject(error as Error)).catch((reason: unknown) => reason)
}

test.each([
  ['a fault of the code', new TypeError('undefined is not a function')],
  ['a stack that is too deep', new RangeError('Maximum call stack size exceeded')],
  ['an error of ours', new TaskError('TASK_ENTRY_TOO_LARGE', 'The result is too large.')],
])('%s is passed on as it is', async (_, error) => {
  expect(await thrown(error)).toBe(error)
})

test('a schema with tables of another program is reported as that, not as missing tables', async () => {
  const fault = await thrown(Object.assign(new Error('relation "tasks" already exists'), { code: '42P07' }))
  expect(fault).toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringContaining('another program') })
})

test.each([
  ['a connection that breaks', new Error('Connection terminated unexpectedly')],
  ['a server that is not there', Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' })],
  [
    'an address that cannot be read',
    Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL', input: 'pw' }),
  ],
])('%s says what to do, and nothing that hangs on the error', async (_, error) => {
  const fault = await thrown(error)
  expect(fault).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect((fault as Error).cause).not.toHaveProperty('input')
})
