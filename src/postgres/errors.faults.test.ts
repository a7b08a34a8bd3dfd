import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { newDatabase, onDatabase, runSql } from '../../test/postgres/database.ts'
import { openingFault, newUser, secret } from '../../test/postgres/users.ts'
import { postgres } from './database.ts'
import { postgresEngine } from './tasks/engine.ts'
import { postgresLedger } from './stores/ledger.ts'

let url: string
beforeAll(async () => void (url = await newDatabase()))

test('a wrong password is reported, and the error does not contain it', async () => {
  const user = await newUser(url)
  const fault = await openingFault({ url: user.url.replace(secret, `wrong-${secret}`) })
  expect(fault?.code).toBe('STORE_UNAVAILABLE')
  expect(fault?.message).toContain('password')
  expect(fault?.text).not.toContain(secret)
})

test.each([
  ['a port where nothing listens', `postgres://ann:${secret}@127.0.0.1:1/db`],
  ['a host that does not exist', `postgres://ann:${secret}@host.invalid/db`],
])('%s is told as such, without the password', async (_, address) => {
  const fault = await openingFault({ url: address })
  expect(fault?.code).toBe('STORE_UNAVAILABLE')
  expect(fault?.message).toContain('cannot be reached')
  expect(fault?.text).not.toContain(secret)
})

test('a database that does not exist is reported', async () => {
  const fault = await openingFault({ url: onDatabase(url, 'nowhere') })
  expect(fault?.code).toBe('STORE_UNAVAILABLE')
  expect(fault?.message).toContain('no such database')
})

test('a database that cannot hold every character is refused', async () => {
  const name = `latin_${randomBytes(4).toString('hex')}`
  await runSql(url, `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
  expect((await openingFault({ url: onDatabase(url, name) }))?.message).toContain('UTF8')
})

const address = `postgres://ann:${secret}@host/db`
test.each([
  ['neither url nor pool', {}],
  ['another protocol', { url: `https://ann:${secret}@host` }],
  ['no address at all', { url: secret }],
  ['too few connections', { url: address, maxConnections: 1 }],
  ['a schema that breaks out', { url: address, schema: 'a"; DROP SCHEMA public; --' }],
  ['a schema that begins with a digit', { url: address, schema: '1a' }],
  ['a schema that is too long', { url: address, schema: 'a'.repeat(41) }],
])('%s is refused at once, without the password', (_, options) => {
  expect(() => postgres(options)).toThrow(expect.objectContaining({ code: 'STATE_OPTION' }))
  expect(() => postgres(options)).not.toThrow(secret)
})

test('a schema may have capitals and hyphens', async () => {
  expect(await openingFault({ url, schema: 'My-App_Tasks' })).toBeUndefined()
})

test('something else than a connection is refused at once', () => {
  expect(() => postgresEngine({ close: async () => {} })).toThrow(/return value of postgres\(\)/)
})

test('a connection that was closed refuses to be used', async () => {
  const connection = postgres({ url })
  await connection.close()
  await expect(postgresLedger(connection).claim('a', 60)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('where pg is not installed, one sentence says what to install', async () => {
  const source = `
    import { registerHooks } from 'node:module'
    registerHooks({
      resolve(name, context, next) {
        if (name !== 'pg') return next(name, context)
        throw Object.assign(new Error('not here'), { code: 'ERR_MODULE_NOT_FOUND' })
      },
    })
    const { postgres } = await import('${new URL('./database.ts', import.meta.url).href}')
    const { postgresEngine } = await import('${new URL('./tasks/engine.ts', import.meta.url).href}')
    const engine = postgresEngine(postgres({ url: ${JSON.stringify(url)} }))
    const said = await engine.open({ audience: 'a', logger: () => console }).catch((error) => error.message)
    console.log(said)`
  const args = ['--no-warnings', '--conditions=pannier-source', '--input-type=module', '--eval', source]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout.trim()).toBe('PostgreSQL needs the package pg; run `npm install pg`.')
})
