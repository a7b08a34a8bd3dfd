/** Logins at the page of a question that is for others than its caller, with a real provider. */
import { once } from 'node:events'
import { createServer as createHost } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newKey } from 'pannier/state'
import { createServer, type LoginOptions, type NodeHandler, type ServerOptions } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { type AsklessClient, askless, byName, offerAsking, textOf, waitingIn } from './fixtures/askless.ts'
import { PersonsBrowser, startProvider } from './fixtures/provider.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

interface Served {
  readonly client: AsklessClient
  readonly link: string
  readonly ticket: string
  /** The endpoint, behind which are both instances. */
  readonly url: string
  /** How many requests each of them has had. */
  readonly requests: readonly number[]
}

/** Two instances with one store, each of which gets every second request, and a refund of ann that waits for a manager. */
async function serve(login: Partial<LoginOptions> = {}, options: Partial<ServerOptions> = {}): Promise<Served> {
  const provider = await startProvider()
  const handlers: NodeHandler[] = []
  const requests: number[] = [0, 0]
  let next = 0
  const host = createHost((req, res) => {
    next = 1 - next
    requests[next]!++
    handlers[next]?.(req, res)
  })
  await once(host.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void host.close())
  const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`
  const [path, keys] = [storePath(), newKey()]
  const questions = { url, login: { issuer: provider.issuer, clientId: 'questions', ...login } }
  for (let instance = 0; instance < 2; instance++) {
    const tasks = sqliteTasks({ path, pollMs: 100 })
    const given = { name: 'travel', version: '1', logger: silent, keys, tasks, principal: byName, questions }
    const server = offerAsking(createServer({ ...given, ...options }), { charged: 0, deleted: [] })
    onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
    handlers.push(server.nodeHandler())
  }
  provider.register([url], login.clientSecret)
  const client = await askless('SDK v2', url, 'ann')
  const { ticket, questions: asked } = waitingIn(await client.call('refund', { cents: 500 }))
  return { client, link: asked[0]?.url ?? '', ticket, url, requests }
}

const yes = { action: 'accept', 'field.approve': 'yes' }
const isReturn = (url: string): boolean => url.includes('/question/login?')

/** Everybody is a manager. */
const manager: LoginOptions['principal'] = ({ sub }) => ({
  id: String(sub),
  subject: String(sub),
  claims: { roles: ['manager'] },
})

async function isOpen({ client, ticket }: Served): Promise<boolean> {
  const { _meta } = await client.call('continue_call', { ticket })
  return _meta?.['dev.pannier/waiting'] !== undefined
}

describe('a question for others', () => {
  test('shows nothing before a login, and is answered by who may', async () => {
    const { client, link, ticket } = await serve()
    const mia = new PersonsBrowser('mia')
    const before = await mia.open(link)
    expect([before.status, before.text]).toEqual([401, expect.stringContaining('href="?login">Log in</a>')])
    for (const hidden of ['500', 'ann', 'manager', 'refund']) expect(before.text).not.toContain(hidden)
    const page = await mia.login(link)
    expect([page.status, page.url]).toEqual([200, link])
    expect(page.text).toContain('ann asks for 500 cents.')
    expect(page.text).toContain('You are logged in as mia.')
    expect((await mia.send(link, yes)).text).toContain('Your answer was sent')
    expect(textOf(await client.call('continue_call', { ticket }))).toBe('500 cents, approved by mia')
    const late = await mia.open(link)
    expect([late.status, late.text]).toEqual([
      410,
      expect.stringMatching(/It was answered by mia on .*, on its page\./),
    ])
  })

  test('says who may answer to a person who may not, and takes no answer', async () => {
    const served = await serve()
    const bob = new PersonsBrowser('bob')
    for (const page of [await bob.login(served.link), await bob.send(served.link, yes)]) {
      expect(page.status).toBe(403)
      expect(page.text).toContain('It can be answered by role:manager, but not by the person whose call asks it.')
      expect(page.text).not.toContain('500')
    }
    expect(await isOpen(served)).toBe(true)
  })

  test('is not answered by its caller where four eyes are asked for', async () => {
    const served = await serve({ principal: manager })
    const ann = new PersonsBrowser('ann')
    for (const page of [await ann.login(served.link), await ann.send(served.link, yes)])
      expect([page.status, page.text]).toEqual([403, expect.stringContaining('This question is for others')])
    const bob = new PersonsBrowser('bob')
    expect((await bob.login(served.link)).status).toBe(200)
  })

  test('takes a login that another instance began, also as a client with a secret', async () => {
    const { link, requests } = await serve({ clientSecret: 'a-secret-of-the-test' })
    const mia = new PersonsBrowser('mia')
    const begun = requests.slice()
    expect(await mia.login(link)).toMatchObject({
      status: 200,
      text: expect.stringContaining('ann asks for 500 cents.'),
    })
    // Begun at one instance, finished at the other one, and shown by the first.
    expect(requests.map((count, at) => count - (begun[at] ?? 0)).toSorted((a, b) => a - b)).toEqual([1, 2])
  })

  test('is logged out by a button, and after a while', async () => {
    let now = Date.now()
    const { link } = await serve({ sessionSeconds: 60 }, { clock: () => now })
    const mia = new PersonsBrowser('mia')
    await mia.login(link)
    expect((await mia.send(link, { action: 'logout' })).status).toBe(401)
    expect((await mia.open(link)).status).toBe(401)
    await mia.login(link)
    expect((await mia.open(link)).status).toBe(200)
    now += 61_000
    expect((await mia.open(link)).status).toBe(401)
    expect((await mia.send(link, yes)).status).toBe(401)
  })

  test('says so when the person does not log in, when the account may not, and when the provider is away', async () => {
    const { link } = await serve()
    const refused = await new PersonsBrowser(undefined).login(link)
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('did not log you in')])
    const closed = await serve({ principal: () => undefined })
    expect(await new PersonsBrowser('mia').login(closed.link)).toMatchObject({
      status: 403,
      text: expect.stringContaining('Your account may not log in here.'),
    })
    const away = await serve({ issuer: 'http://127.0.0.1:1' })
    expect(await new PersonsBrowser('mia').login(away.link)).toMatchObject({
      status: 503,
      text: expect.stringContaining('The login service does not answer.'),
    })
  })

  test('says so when the claims of an account are too large for a cookie', async () => {
    const claims = { groups: Array.from({ length: 1000 }, (_, number) => `group-${number}`) }
    const { link } = await serve({ principal: ({ sub }) => ({ id: String(sub), claims }) })
    expect(await new PersonsBrowser('mia').login(link)).toMatchObject({
      status: 500,
      text: expect.stringContaining('questions.login.principal'),
    })
  })
})

describe('an attacker gains nothing with', () => {
  test('the login that somebody else began or finished', async () => {
    const { link } = await serve()
    const [mia, eve] = [new PersonsBrowser('mia'), new PersonsBrowser('eve')]
    const returned = await mia.login(link, isReturn)
    await eve.login(link, isReturn)
    for (const browser of [eve, new PersonsBrowser('eve')]) {
      expect(await browser.open(returned.url)).toMatchObject({ status: 400 })
      expect(browser.cookies.has('pannier-login')).toBe(false)
    }
    expect((await mia.open(returned.url)).status).toBe(200)
    // The code counts once.
    expect((await mia.open(returned.url)).status).toBe(400)
  })

  test('a code of another login, another state, another issuer, or a state of another purpose', async () => {
    const { link } = await serve()
    const mia = new PersonsBrowser('mia')
    const [first, second] = [await mia.login(link, isReturn), await mia.login(link, isReturn)]
    const mixed = new URL(first.url)
    mixed.searchParams.set('code', new URL(second.url).searchParams.get('code') ?? '')
    const issued = new URL(first.url)
    issued.searchParams.set('iss', 'https://evil.example.com')
    const purposed = new URL(first.url)
    purposed.searchParams.set('state', new URL(link).pathname.split('/').at(-1) ?? '')
    const cut = new URL(first.url)
    cut.searchParams.set('state', (cut.searchParams.get('state') ?? '').slice(0, -2))
    for (const url of [mixed, issued, purposed, cut]) expect((await mia.open(url.href)).status).toBe(400)
    expect(mia.cookies.has('pannier-login')).toBe(false)
  })

  test('a page to return to: only that of the question is returned to', async () => {
    const { link, url: endpoint } = await serve()
    const mia = new PersonsBrowser('mia')
    for (const query of ['?login=//evil.example.com', '?login&to=https://evil.example.com'])
      expect(await mia.open(`${link}${query}`)).toMatchObject({ status: 401, url: `${link}${query}` })
    await mia.login(link)
    for (const url of mia.visited) expect(new URL(url).hostname).toBe('127.0.0.1')
    expect((await mia.open(`${endpoint}/question/login?to=https://evil.example.com`)).status).toBe(400)
  })

  test('a cookie of another server, or one that was made up', async () => {
    const [one, other] = [await serve(), await serve()]
    const mia = new PersonsBrowser('mia')
    await mia.login(one.link)
    expect((await mia.open(other.link)).status).toBe(401)
    const eve = new PersonsBrowser('eve')
    await eve.login(one.link)
    const own = eve.cookies.get('pannier-login') ?? ''
    for (const value of [own.slice(0, -4), 'x', `${own}; pannier-login=${own}`, new URL(one.link).pathname.slice(14)]) {
      eve.cookies.set('pannier-login', value)
      expect((await eve.open(one.link)).status).toBe(401)
    }
  })

  test.each([[{ 'sec-fetch-site': 'cross-site' }], [{ origin: 'https://evil.example.com' }], [{ origin: 'null' }]])(
    'a form of another page that a person who is logged in sends: %j',
    async (headers) => {
      const served = await serve()
      const mia = new PersonsBrowser('mia')
      await mia.login(served.link)
      expect((await mia.send(served.link, yes, headers)).status).toBe(403)
      expect(await isOpen(served)).toBe(true)
    },
  )

  test('a link of a question for others as a link of its caller', async () => {
    const { link, client } = await serve()
    const own = waitingIn(await client.call('delete_branch', { branch: 'old' })).questions[0]?.url ?? ''
    expect((await fetch(own)).status).toBe(200)
    expect((await fetch(link)).status).toBe(401)
    expect((await fetch(link, { method: 'POST', body: new URLSearchParams(yes) })).status).toBe(401)
  })
})

test('over https the cookies are for this host alone, and no script reads them', async () => {
  const url = 'https://mcp.example.com/mcp'
  const provider = await startProvider()
  provider.register([url])
  const login = { issuer: provider.issuer, clientId: 'questions' }
  const tasks = sqliteTasks({ path: ':memory:' })
  const server = createServer({
    name: 'travel',
    version: '1',
    logger: silent,
    principal: byName,
    tasks,
    questions: { url, login },
  })
  offerAsking(server, { charged: 0, deleted: [] })
  onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
  const client = await askless('SDK v2', (await server.listen({ drainOnTerm: false })).url, 'ann')
  const link = waitingIn(await client.call('refund', { cents: 5 })).questions[0]?.url ?? ''
  const begun = await server.fetch(new Request(`${link}?login`))
  expect(begun.headers.get('set-cookie')).toMatch(
    /^__Host-pannier-browser=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  )
  expect(new URL(begun.headers.get('location') ?? '').searchParams.get('code_challenge_method')).toBe('S256')
})

test.each([
  [{ issuer: 'http://login.example.com', clientId: 'x' }, /https address of an OpenID Connect provider/],
  [{ issuer: 'https://login.example.com', clientId: '' }, /questions\.login\.clientId/],
  [{ issuer: 'https://login.example.com', clientId: 'x', scopes: ['profile'] }, /questions\.login\.scopes/],
  [{ issuer: 'https://login.example.com', clientId: 'x', sessionSeconds: 0 }, /questions\.login\.sessionSeconds/],
  [{ issuer: 'https://login.example.com', clientId: 'x', client: '' } as never, /client/],
])('a wrong setting is told with what to do: %#', (login, sentence) => {
  const options = { name: 'x', version: '1', tasks: sqliteTasks({ path: ':memory:' }), questions: { login } }
  expect(() => createServer(options)).toThrow(sentence)
})
