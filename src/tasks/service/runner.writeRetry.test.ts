import { expect, test } from 'vitest'
import { StateError } from '../../state/internal.ts'
import { retryWrite } from './runner.ts'

const away = new StateError('STORE_UNAVAILABLE', 'away')

test('a write is retried until the store is available', async () => {
  let tries = 0
  const write = async (): Promise<string> => {
    tries++
    if (tries < 3) throw away
    return 'written'
  }
  const told: unknown[] = []
  expect(await retryWrite(write, new AbortController().signal, (error) => told.push(error))).toBe('written')
  expect(tries).toBe(3)
  expect(told).toEqual([away])
})

test('other errors are not retried', async () => {
  let tries = 0
  const write = async (): Promise<void> => {
    tries++
    throw new StateError('STORE_CORRUPT', 'damaged')
  }
  await expect(retryWrite(write, new AbortController().signal)).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect(tries).toBe(1)
})

test('retrying ends with the lease, also during a pause', async () => {
  const lost = new AbortController()
  const persisting = retryWrite(() => Promise.reject(away), lost.signal)
  setTimeout(() => lost.abort(), 10)
  await expect(persisting).rejects.toMatchObject({ code: 'LEASE_LOST' })
  await expect(retryWrite(async () => 'written', lost.signal)).rejects.toMatchObject({ code: 'LEASE_LOST' })
})
