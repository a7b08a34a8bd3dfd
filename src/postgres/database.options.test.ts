import { expect, test } from 'vitest'
import { postgres, type PostgresOptions } from './database.ts'
import type { PostgresPool } from './sql.ts'

const url = 'postgres://user:secret@127.0.0.1:1/none'
const pool = (max?: number) => ({ on() {}, ...(max !== undefined && { options: { max } }) }) as unknown as PostgresPool

test.each<[string, PostgresOptions, RegExp | undefined]>([
  ['an address', { url }, undefined],
  ['an address by its longer name', { url: url.replace('postgres:', 'postgresql:') }, undefined],
  ['a pool', { pool: pool() }, undefined],
  ['a pool of two', { pool: pool(2) }, undefined],
  ['two connections', { url, maxConnections: 2 }, undefined],
  ['nothing', {}, /either url or pool/],
  ['both', { url, pool: pool() }, /either url or pool/],
  ['an address of something else', { url: url.replace('postgres:', 'mysql:') }, /url is postgres:/],
  ['no address', { url: 'secret' }, /url is postgres:/],
  ['one connection', { url, maxConnections: 1 }, /at least 2/],
  ['half a connection more', { url, maxConnections: 2.5 }, /whole number/],
  ['a pool of one', { pool: pool(1) }, /at least two connections/],
])('%s is enough, or it is said what is not, without the password', (_, options, sentence) => {
  const open = (): unknown => postgres(options)
  if (sentence === undefined) expect(open).not.toThrow()
  else {
    expect(open).toThrow(sentence)
    expect(open).not.toThrow(/secret/)
  }
})
