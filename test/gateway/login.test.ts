/** Servers behind a login: the gateway says which command logs in, uses what that stored, and refreshes it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { startPannier } from '../cli/fixtures/program.ts'
import { authorizationServer, type AuthorizationServer } from '../client/fixtures/servers/authorization.ts'
import { call, connectClient } from './fixtures/gateways.ts'
import { TABLE } from './fixtures/table.ts'

const PATIENCE = { timeout: 30_000 }
const folder = mkdtempSync(join(tmpdir(), 'pannier-login-'))
const env = { XDG_DATA_HOME: folder, PATH: '' }
let provider: AuthorizationServer

beforeAll(async () => {
  provider = await authorizationServer()
})
afterAll(() => {
  provider.close()
  rmSync(folder, { recursive: true, force: true })
})

test('a server behind a login is named with the command, served once somebody has logged in, and the login is refreshed by one worker for all', async () => {
  const file = join(folder, 'mcp.json')
  const gateway = { admin: { port: 0 } }
  writeFileSync(file, JSON.stringify({ mcpServers: { kitchen: { url: provider.mcpUrl } }, gateway }))
  const { child } = startPannier(['gateway', file, '--port', '0', '--workers', '2'], { input: null, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let shown = ''
  child.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  await vi.waitFor(() => expect(shown).toMatch(TABLE), PATIENCE)
  const flat = shown.replace(/\s+/g, ' ')
  expect(flat).toContain(`not there: it needs a login. Log in with: pannier login ${file}#kitchen`)
  const admin = /Health and servers: (\S+)health/.exec(shown)?.[1]
  expect(await (await fetch(`${admin}health`)).text()).toContain(`pannier login ${file}#kitchen`)

  const login = startPannier(['login', `${file}#kitchen`], { env })
  const asked = new Promise<string>((resolve) => login.child.stderr?.once('data', (text) => resolve(String(text))))
  await provider.visit(/^http\S+$/m.exec(await asked)?.[0] ?? '')
  expect(await login.ended).toMatchObject({ status: 0, stderr: expect.stringContaining('takes your calls') as string })

  const url = /Serving (http:\S+)/.exec(shown)?.[1] ?? ''
  const client = await connectClient('v2', url, { connection: 'close' }) // each request comes to the next worker
  await vi.waitFor(async () => expect(await call(client, 'kitchen_who')).toBe('ann'), PATIENCE)
  for (const token of ['ann2', 'ann3']) {
    provider.expire()
    const answers = await Promise.all(Array.from({ length: 6 }, () => call(client, 'kitchen_who')))
    expect(new Set(answers)).toEqual(new Set(['ann']))
    expect(readFileSync(join(folder, 'pannier', 'logins.json'), 'utf8')).toContain(`"${token}"`)
  }
  expect(provider.visits).toBe(1)
})

test('a server that needs credentials and offers no login is said to, by the table, health, calls and the login alike', async () => {
  const host = await hostUntil((_, res) => res.writeHead(401).end())
  const file = join(folder, 'locked.json')
  const locked = { url: host.url }
  writeFileSync(file, JSON.stringify({ mcpServers: { locked }, gateway: { admin: { port: 0 } } }))
  const { child } = startPannier(['gateway', file, '--port', '0'], { input: null, env: { PANNIER_LOG_LEVEL: 'warn' } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let shown = ''
  child.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  await vi.waitFor(() => expect(shown).toMatch(TABLE), PATIENCE)
  const sentence = 'needs credentials and offers no login. Give its entry an Authorization header.'
  expect(shown.replace(/\s+/g, ' ')).toContain(`not there: it ${sentence}`)
  expect(shown).toContain('"why":"it needs credentials and offers no login."')
  const admin = /Health and servers: (\S+)health/.exec(shown)?.[1]
  expect(await (await fetch(`${admin}health`)).text()).toContain(sentence)
  const client = await connectClient('v2', /Serving (http:\S+)/.exec(shown)?.[1] ?? '')
  await expect(call(client, 'locked_thing')).rejects.toThrow(`The server "locked" ${sentence}`)
  const login = await startPannier(['login', `${file}#locked`], { env }).ended
  expect(login).toMatchObject({ status: 3, stderr: expect.stringContaining(`The server ${sentence}`) as string })
})
