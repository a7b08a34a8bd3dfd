/** The page of a question over HTTP: who may open it, how often it counts, and what it refuses. */
import { createHash } from 'node:crypto'
import { createServer as createHost } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { newKey } from 'pannier/state'
import { createServer, type Server, type ServerOptions } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { questionPage } from '../../src/questions/page.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { askless, type AsklessClient, type Done, offerAsking, textOf, waitingIn } from './fixtures/askless.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

interface Served {
  readonly client: AsklessClient
  readonly link: string
  readonly ticket: string
  readonly server: Server
  readonly done: Done
}

function newServer(options: Partial<ServerOptions> = {}): { server: Server; done: Done } {
  const done: Done = { charged: 0, deleted: [] }
  const tasks = sqliteTasks({ path: storePath() })
  const given = {
    name: 'travel',
    title: 'Travel desk',
    version: '1',
    logger: silent,
    keys: newKey(),
    tasks,
    questions: true,
  }
  const server = offerAsking(createServer({ ...given, ...options }), done)
  onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
  return { server, done }
}

async function serve(options: Partial<ServerOptions> = {}): Promise<Served> {
  const { server, done } = newServer(options)
  const { url } = await server.listen({ drainOnTerm: false })
  const client = await askless('SDK v2', url)
  return { server, done, client, ...(await waitingCall(client)) }
}

async function waitingCall(client: AsklessClient): Promise<{ link: string; ticket: string }> {
  const { ticket, questions } = waitingIn(await client.call('delete_branch', { branch: 'old' }))
  return { link: questions[0]?.url ?? '', ticket }
}

function post(link: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(link, { method: 'POST', headers, body: new URLSearchParams(fields) })
}

const yes = { action: 'accept', 'field.sure': 'yes' }

test('the page shows who asks what, and nothing of it is cached, framed, scripted or sent on', async () => {
  const { link } = await serve()
  const page = await fetch(link)
  const text = await page.text()
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(text).toContain('The tool <strong>delete_branch</strong> of the server <strong>Travel desk</strong>')
  expect(text).toContain('Delete the branch old?')
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
  })
  const policy = page.headers.get('content-security-policy') ?? ''
  for (const rule of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"])
    expect(policy).toContain(rule)
  expect(policy).not.toContain('unsafe')
  const style = /<style>([^]*?)<\/style>/.exec(text)?.[1] ?? ''
  expect(policy).toContain(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`)
})

test('what does not fit is shown again with its reason, and the question stays open', async () => {
  const { link, client, ticket } = await serve()
  const page = await post(link, { ...yes, 'field.sure': '', 'field.note': 'x'.repeat(21) })
  expect(page.status).toBe(422)
  const text = await page.text()
  expect(text).toContain('This field is required.')
  expect(text).toContain('It may have at most 20 characters.')
  expect(waitingIn(await client.call('continue_call', { ticket })).questions).toHaveLength(1)
})

test('a link counts once: of two answers at the same time one is told that the question is closed', async () => {
  const { link, client, ticket, done } = await serve()
  const answers = await Promise.all([post(link, yes), post(link, { action: 'decline' }), post(link, yes)])
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 410, 410])
  expect((await fetch(link)).status).toBe(410)
  await client.call('continue_call', { ticket })
  expect(done.charged).toBe(1)
})

test('declined on the page is declined for the tool', async () => {
  const { link, client, ticket, done } = await serve()
  expect(await (await post(link, { action: 'decline' })).text()).toContain('You declined')
  expect((await client.call('continue_call', { ticket })).isError).toBe(true)
  expect(done.deleted).toEqual([])
})

describe('refused are', () => {
  test('a link of another server, an incomplete one, and a made-up one', async () => {
    const [one, other] = [await serve(), await serve()]
    const path = new URL(one.link).pathname
    const wrong = [new URL(path, other.link), new URL(path.slice(0, -1), one.link), new URL(`${path}A`, one.link)]
    for (const link of wrong) {
      for (const answer of [await fetch(link), await post(link.href, yes)]) expect(answer.status).toBe(404)
    }
    // These are paths like any other, which have no page.
    for (const path of ['/mcp/question/x', '/mcp/question/'])
      expect((await fetch(new URL(path, one.link))).headers.get('content-type')).toBe('application/json')
    expect((await post(one.link, yes)).status).toBe(200)
  })

  test('a link whose time is over', async () => {
    let now = Date.now()
    const tasks = sqliteTasks({ path: ':memory:', clock: () => now })
    const { link } = await serve({ questions: { waitSeconds: 60 }, clock: () => now, tasks })
    expect((await fetch(link)).status).toBe(200)
    now += 61_000
    for (const page of [await fetch(link), await post(link, yes)])
      expect([page.status, await page.text()]).toEqual([410, expect.stringContaining('There was no answer in time')])
    now += 8 * 86_400_000
    expect((await fetch(link)).status).toBe(404)
    expect((await post(link, yes)).status).toBe(404)
  })

  test.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ origin: 'https://evil.example.com' }],
    [{ origin: 'null' }],
    [{ origin: 'http://127.0.0.1:1' }],
  ])('a form that another page sends: %j', async (headers) => {
    const { link, client, ticket } = await serve()
    expect((await post(link, yes, headers)).status).toBe(403)
    expect(waitingIn(await client.call('continue_call', { ticket })).questions).toHaveLength(1)
  })

  test('a form that is too long, with its length or without', async () => {
    const { link } = await serve()
    const long = new TextEncoder().encode(`action=accept&field.note=${'x'.repeat(300_000)}`)
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await fetch(link, { method: 'POST', headers: type, body: long })).status).toBe(413)
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(long)
        controller.close()
      },
    })
    const streamed = { method: 'POST', headers: type, body, duplex: 'half' } as const
    expect((await fetch(link, streamed)).status).toBe(413)
  })

  test('a form with thousands of inputs, before it is read', async () => {
    const { link } = await serve()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await fetch(link, { method: 'POST', headers, body: 'a&'.repeat(100_000) })).status).toBe(413)
  })

  test('more requests than the limits of the server allow', async () => {
    const { link } = await serve({ limits: { requestsPerMinute: 20 } })
    const statuses: number[] = []
    for (let request = 0; request < 30; request++) statuses.push((await fetch(link)).status)
    expect(statuses).toContain(429)
    expect(statuses[0]).toBe(200)
  })

  test('other methods, and an action that the form has not', async () => {
    const { link } = await serve()
    expect((await fetch(link, { method: 'PUT', body: '' })).status).toBe(405)
    expect((await post(link, { action: 'delete' })).status).toBe(400)
  })
})

test('a message of a million lines is cut, so that its page is made quickly', () => {
  const view = { server: 's', tool: 't', message: '\n'.repeat(1_000_000), fields: [], expiresAt: null }
  expect(questionPage(view).length).toBeLessThan(20_000)
})

test('an endpoint whose own path has the word is an endpoint', async () => {
  const { server } = newServer()
  const { url } = await server.listen({ path: '/question/mcp', drainOnTerm: false })
  const client = await askless('SDK v1', url)
  expect(await client.tools()).toContain('delete_branch')
})

describe('the address of the page is', () => {
  const url = 'https://mcp.example.com/tools/mcp'

  test('that of the option, behind a proxy whose origin it has', async () => {
    const { link, server } = await serve({ questions: { url: `${url}/` } })
    expect(link).toMatch(/^https:\/\/mcp\.example\.com\/tools\/mcp\/question\/[\w-]+$/)
    const headers = { origin: 'https://mcp.example.com', 'content-type': 'application/x-www-form-urlencoded' }
    const request = new Request(link, { method: 'POST', headers, body: new URLSearchParams(yes).toString() })
    expect((await server.fetch(request)).status).toBe(200)
  })

  test('below a mounted handler of node:http', async () => {
    const { server, done } = newServer({ questions: { url } })
    const host = createHost(server.nodeHandler()).listen(0, '127.0.0.1')
    await once(host, 'listening')
    onTestFinished(() => void host.close())
    const own = `http://127.0.0.1:${(host.address() as AddressInfo).port}`
    const client = await askless('SDK v1', `${own}/tools/mcp`)
    const { link, ticket } = await waitingCall(client)
    expect((await post(own + new URL(link).pathname, yes)).status).toBe(200)
    expect(textOf(await client.call('continue_call', { ticket }))).toBe('old is deleted')
    expect(done.deleted).toEqual(['old'])
  })

  test('in no result of a mounted server that does not know its own', async () => {
    const { server } = newServer()
    const host = createHost(server.nodeHandler()).listen(0, '127.0.0.1')
    await once(host, 'listening')
    onTestFinished(() => void host.close())
    const client = await askless('SDK v1', `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`)
    const waiting = await client.call('delete_branch', { branch: 'old' })
    expect(waitingIn(waiting).questions[0]).not.toHaveProperty('url')
    expect(textOf(waiting)).toContain('The question: Delete the branch old?')
  })
})

test.each([
  [{ questions: true }, /needs a task store: createServer\({ questions: true, tasks/],
  [
    { questions: { url: 'mcp.example.com' }, tasks: sqliteTasks({ path: ':memory:' }) },
    /questions\.url is the http or https/,
  ],
  [{ questions: { waitSeconds: 0 }, tasks: sqliteTasks({ path: ':memory:' }) }, /questions\.waitSeconds is a number/],
  [{ questions: { uri: '' } as never, tasks: sqliteTasks({ path: ':memory:' }) }, /uri/],
])('a wrong setting is told with what to do: %#', (options, sentence) => {
  expect(() => createServer({ name: 'travel', version: '1', ...options })).toThrow(sentence)
})
