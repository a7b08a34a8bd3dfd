import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loginFile } from './file.ts'
import { browserLogin, storedLogin } from './login.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-login-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function visit(address: string) {
  const [opened, notes]: [string[], string[]] = [[], []]
  const { authorizer, close } = await browserLogin('https://a.example/mcp', join(folder, 'logins.json'), {
    note: (text) => notes.push(text),
    signal: new AbortController().signal,
    open: async (url) => void opened.push(url),
  })
  try {
    await authorizer.state?.()
    const failed: unknown = await Promise.resolve(authorizer.redirectToAuthorization(new URL(address))).catch(
      (error: unknown) => error,
    )
    return { opened, notes: notes.join('\n'), failed }
  } finally {
    close()
  }
}

test('the host of a login is said before a browser opens it', async () => {
  const address = 'https://login.example/authorize?client=1'
  const { opened, notes, failed } = await visit(address)
  expect([opened, failed]).toEqual([[address], undefined])
  expect(notes).toMatch(/log in at login\.example\./)
  expect(notes).toContain(address)
})

test.each([
  'vscode://localhost/open?file=x',
  'javascript://localhost/%0aalert(1)',
  'http://login.example/authorize',
  'https://login.example@evil.example/',
])('an address that a server should not have opened is not: %s', async (address) => {
  const { opened, notes, failed } = await visit(address)
  expect(opened).toEqual([])
  expect(failed).toBeInstanceOf(Error)
  expect(notes).toMatch(/not opened/)
})

test('while one process uses the tokens of a server another waits, until a person is asked', async () => {
  const [url, path] = ['https://b.example/mcp', join(folder, 'logins.json')]
  const host = { note: () => {}, signal: new AbortController().signal, open: async () => {} }
  const { authorizer, close } = await browserLogin(url, path, host)
  const states: string[] = []
  await authorizer.exclusive?.(async () => {
    const other = loginFile(path, url).lock()
    void other.then(() => states.push('other'))
    await loginFile(path, 'https://c.example/mcp').lock() // which is of no interest to other servers
    await authorizer.saveTokens({ access_token: 'a', token_type: 'Bearer' })
    states.push('asks')
    await authorizer.redirectToAuthorization(new URL('https://login.example/authorize'))
    ;(await other)()
  })
  close()
  expect(states).toEqual(['asks', 'other'])
})

test('a login of another process that does not end is not waited for without end', async () => {
  const [url, path] = ['https://d.example/mcp', join(folder, 'logins.json')]
  const free = await loginFile(path, url).lock()
  await expect(loginFile(path, url, 50).lock()).rejects.toMatchObject({
    code: 'AUTHORIZATION_FAILED',
    message: 'Another process has been logging in to this server for 0.05 seconds; try again later.',
  })
  free()
  ;(await loginFile(path, url, 50).lock())()
})

test('a login that a server refuses is read again from the file, and ends where the file has no other; the file keeps it', async () => {
  const [url, path] = ['https://e.example/mcp', join(folder, 'logins.json')]
  const token = (name: string) => ({ access_token: name, token_type: 'Bearer' })
  const file = loginFile(path, url)
  await file.save({ tokens: token('first') })
  const authorizer = await storedLogin(url, path)
  await file.save({ tokens: token('second') }) // by another program
  await authorizer?.invalidateCredentials?.('tokens')
  expect(await authorizer?.tokens()).toEqual(token('second'))
  await authorizer?.invalidateCredentials?.('tokens')
  expect(await authorizer?.tokens()).toBeUndefined()
  expect((await file.load()).tokens).toEqual(token('second'))
})
