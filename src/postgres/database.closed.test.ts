import { expect, test } from 'vitest'
import { Database } from './database.ts'

test('a database is closed from the moment that it is being closed, and gives no connections then', async () => {
  const database = new Database({ url: 'postgres://nobody@127.0.0.1:1/none' })
  expect(database.isClosed).toBe(false)
  const closing = database.close()
  expect(database.isClosed).toBe(true)
  await closing
  await database.close()
  await expect(database.ready()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})
