/** The page of a question in a real browser: with scripts and without, by keyboard alone, and held against axe-core. */
import axe from 'axe-core'
import { newKey } from 'pannier/state'
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { browserPaths, openBrowser } from '../site/fixtures/browser.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { type AsklessClient, askless, byName, offerAsking, textOf, waitingIn } from './fixtures/askless.ts'
import { startProvider } from './fixtures/provider.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

let browser: Browser
beforeAll(async () => {
  const [path] = browserPaths
  if (path === undefined) throw new Error('This test needs Chromium (apt install chromium).')
  browser = await openBrowser(path)
}, 60_000)
afterAll(() => browser?.close())

interface Served {
  readonly client: AsklessClient
  readonly page: Page
}

/** A server whose tools ask, and a page of a browser of this person. */
async function serve(person: string, scripts: boolean): Promise<Served> {
  const provider = await startProvider()
  const server = createServer({
    name: 'travel',
    version: '1',
    logger: silent,
    keys: newKey(),
    principal: byName,
    tasks: sqliteTasks({ path: storePath() }),
    questions: { login: { issuer: provider.issuer, clientId: 'questions' } },
  })
  offerAsking(server, { charged: 0, deleted: [] })
  server.tool('survey', { description: 'Asks for everything.' }, async (_, ctx) =>
    JSON.stringify(await ctx.ask('all', ALL)),
  )
  onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
  const { url } = await server.listen({ drainOnTerm: false })
  provider.register([url])
  const context = await browser.newContext({
    javaScriptEnabled: scripts,
    extraHTTPHeaders: { 'x-person': person },
  })
  onTestFinished(() => context.close())
  return { client: await askless('SDK v2', url, 'ann'), page: await newPage(context) }
}

async function newPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  return page
}

const ALL = {
  message: 'Please tell us everything.\n<b>All</b> of it.',
  schema: z.object({
    name: z.string().meta({ title: 'Your name', description: 'As in your passport.' }),
    mail: z.email().meta({ title: 'Mail' }),
    nights: z.number().int().min(1).max(30).meta({ title: 'Nights' }),
    room: z.enum(['single', 'double']).meta({ title: 'Room' }),
    extras: z.array(z.enum(['breakfast', 'parking'])).meta({ title: 'Extras' }),
    sure: z.boolean().meta({ title: 'Are you sure?' }),
    note: z.string().max(500).optional().meta({ title: 'Note' }),
  }),
}

const CONTENT = {
  name: 'Ann',
  mail: 'ann@example.com',
  nights: 3,
  room: 'double',
  extras: ['parking'],
  sure: true,
  note: 'Two\nlines',
}

async function linkOf(client: AsklessClient, tool: string, args: Record<string, unknown> = {}) {
  const { ticket, questions } = waitingIn(await client.call(tool, args))
  return { ticket, link: questions[0]?.url ?? '' }
}

const RUN_AXE =
  'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))'

/** What axe-core finds on a page. */
async function findings(page: Page): Promise<unknown> {
  await page.evaluate(axe.source)
  return page.evaluate(RUN_AXE)
}

describe.each([true, false])('with scripts: %s', (scripts) => {
  test('a form of every kind of field is filled in and sent by keyboard alone', async () => {
    const { client, page } = await serve('ann', scripts)
    const { link, ticket } = await linkOf(client, 'survey')
    await page.goto(link)
    const { keyboard } = page
    const next = () => keyboard.press('Tab')
    await next()
    await keyboard.type('Ann')
    await next()
    await keyboard.type('ann@example.com')
    await next()
    await keyboard.type('3')
    await next()
    await keyboard.type('double')
    await next()
    await next()
    await keyboard.press('Space')
    await next()
    await keyboard.press('Space')
    await next()
    await keyboard.type('Two')
    await keyboard.press('Enter')
    await keyboard.type('lines')
    await next()
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your answer was sent' }).waitFor()
    expect(JSON.parse(textOf(await client.call('continue_call', { ticket })))).toEqual(CONTENT)
  })

  test('a person logs in, answers for somebody else, and logs out', async () => {
    const { client, page } = await serve('mia', scripts)
    const { link, ticket } = await linkOf(client, 'refund', { cents: 500 })
    await page.goto(link)
    await page.getByRole('link', { name: 'Log in' }).click()
    await page.getByText('ann asks for 500 cents.').waitFor()
    expect(page.url()).toBe(link)
    await page.getByLabel('Yes').check()
    await page.getByRole('button', { name: 'Send the answer' }).click()
    await page.getByRole('heading', { name: 'Your answer was sent' }).waitFor()
    expect(textOf(await client.call('continue_call', { ticket }))).toBe('500 cents, approved by mia')
    const second = await linkOf(client, 'refund', { cents: 7 })
    await page.goto(second.link)
    await page.getByText('ann asks for 7 cents.').waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('link', { name: 'Log in' }).waitFor()
    expect(page.url()).toBe(second.link)
  })
})

test('axe-core finds nothing on any of the pages, and what does not fit is said beside its field', async () => {
  const { client, page } = await serve('bob', true)
  const own = await linkOf(client, 'survey')
  await page.goto(own.link)
  expect(await findings(page)).toEqual([])
  await page.getByLabel('Your name').fill('Ann')
  await page.locator('form').evaluate((form) => form.setAttribute('novalidate', ''))
  await page.getByRole('button', { name: 'Send the answer' }).click()
  await page.getByRole('alert').waitFor()
  expect(await page.getByLabel('Your name').inputValue()).toBe('Ann')
  expect(await page.getByText('This field is required.').count()).toBeGreaterThan(2)
  expect(await findings(page)).toEqual([])
  await page.getByRole('button', { name: 'Decline' }).click()
  await page.getByRole('heading', { name: 'You declined' }).waitFor()
  expect(await findings(page)).toEqual([])
  await page.reload()
  const { link } = await linkOf(client, 'refund', { cents: 500 })
  await page.goto(link)
  expect(await findings(page)).toEqual([])
  await page.getByRole('link', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'This question is for others' }).waitFor()
  expect(await findings(page)).toEqual([])
})

test('a page of another site cannot frame the form, and what it sends is refused', async () => {
  const { client, page } = await serve('ann', true)
  const { link, ticket } = await linkOf(client, 'delete_branch', { branch: 'old' })
  await page.route('http://evil.example.com/*', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<iframe src="${link}"></iframe><form method="post" action="${link}"><input name="field.sure" value="yes"><button name="action" value="accept">Win</button></form>`,
    }),
  )
  await page.goto('http://evil.example.com/')
  expect(await page.frames()[1]?.content()).not.toContain('Delete the branch')
  await page.getByRole('button', { name: 'Win' }).click()
  await page.getByRole('heading', { name: 'This form came from another page' }).waitFor()
  expect(waitingIn(await client.call('continue_call', { ticket })).questions).toHaveLength(1)
})
