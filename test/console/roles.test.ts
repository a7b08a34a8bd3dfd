/** People with different roles, who log in at an OpenID Connect provider. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isObject } from '../../src/protocol/index.ts'
import { MANAGERS, startBank } from '../gateway/fixtures/bank.ts'
import { askless, byName, textOf, waitingIn } from '../questions/fixtures/askless.ts'
import { PersonsBrowser, startProvider } from '../questions/fixtures/provider.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { startGateway } from '../gateway/fixtures/gateways.ts'
import { serveConsole } from './fixtures/console.ts'

const ROLES = { approver: ['role:manager'], viewer: ['role:clerk'] }

async function served() {
  const provider = await startProvider()
  const { url: bank, paid } = await startBank()
  const store = storePath()
  const login = { issuer: provider.issuer, clientId: 'questions', roles: ROLES }
  const admin = { host: '127.0.0.1', port: 0, login }
  const audit = join(dirname(store), 'audit')
  const settings = { store, admin, approve: [MANAGERS], audit: { folder: audit } }
  const servers = { bank: { url: bank, pannier: { state: 'stateless' } } }
  const console = await serveConsole(servers, { principal: byName }, { gateway: settings })
  provider.register([console.origin], undefined, '/console/login')
  return { ...console, paid, audit }
}

/** Requests of this person, who has logged in. */
async function loggedIn(origin: string, person: string) {
  const browser = new PersonsBrowser(person)
  expect((await browser.open(`${origin}/console/login`)).url).toBe(`${origin}/console`)
  const read = async (path: string) => JSON.parse((await browser.open(`${origin}/console/api/${path}`)).text) as unknown
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const act = async (params: object) => {
    const body = JSON.stringify({ action: 'questions.answer', params })
    const answer = await fetch(`${origin}/console/api/act`, { method: 'POST', headers: { origin, cookie }, body })
    return [answer.status, await answer.json()] as const
  }
  return { read, act }
}

test('people log in, have the roles of their claims, and answer what they may', async () => {
  const { origin, url, paid, audit, gateway } = await served()
  const ann = await askless('SDK v2', url, 'ann')
  const { ticket, questions } = waitingIn(await ann.call('bank_pay', { amount: 5, to: 'bo' }))
  const [mia, bob] = [await loggedIn(origin, 'mia'), await loggedIn(origin, 'bob')]
  expect(await mia.read('me')).toEqual({ role: 'approver', name: 'mia', hasLogin: true })
  expect(await bob.read('me')).toEqual({ role: 'viewer', name: 'bob', hasLogin: true })
  const params = { id: questions[0]?.id, action: 'accept', content: { approve: true } }
  expect(await bob.act(params)).toEqual([403, { error: 'You are here as viewer. This needs the role approver.' }])
  expect(await mia.act(params)).toEqual([200, {}])
  expect(await mia.act(params)).toEqual([409, { error: expect.stringMatching(/answered by mia .* in the console/) }])
  expect(textOf(await ann.call('continue_call', { ticket }))).toBe('paid 5')
  expect(paid).toEqual([5])
  await gateway.drain({ deadlineMs: 0 })
  const lines = readdirSync(audit).flatMap((file) => readFileSync(join(audit, file), 'utf8').trim().split('\n'))
  const changes = lines
    .map((line): unknown => JSON.parse(line))
    .filter((line) => isObject(line) && line['kind'] === 'console')
  expect(changes).toMatchObject([
    { action: 'questions.answer', subject: params.id, outcome: 'refused', role: 'viewer', caller: { subject: 'bob' } },
    { action: 'questions.answer', subject: params.id, outcome: 'done', role: 'approver', caller: { subject: 'mia' } },
    {
      action: 'questions.answer',
      subject: params.id,
      outcome: 'refused',
      role: 'approver',
      caller: { subject: 'mia' },
    },
  ])
})

test('beyond loopback there is no console without a login, and none for the token', async () => {
  const { url: bank } = await startBank()
  const admin = { host: '0.0.0.0', port: 0, token: 'a-token-of-operators' }
  const { gateway } = await startGateway({ bank: { url: bank } }, {}, { gateway: { admin } })
  const listening = await gateway.listenAdmin()
  onTestFinished(() => listening?.close())
  expect(listening?.console).toBeUndefined()
  const port = new URL(listening?.url ?? '').port
  expect((await fetch(`http://127.0.0.1:${port}/console`)).status).toBe(401)
})
