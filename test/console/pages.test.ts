/** The pages of the console in a real browser, before real servers of both eras. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import axe from 'axe-core'
import { createGateway, readGatewayConfig } from 'pannier/gateway'
import { createServer } from 'pannier/server'
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { testIsOver } from '../fixtures/until.ts'
import { serversOfBothEras } from '../gateway/fixtures/bothEras.ts'
import { startBank } from '../gateway/fixtures/bank.ts'
import { modernServer } from '../gateway/fixtures/gateways.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { askless, textOf, waitingIn } from '../questions/fixtures/askless.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { oneBrowser, openPage, serveConsole } from './fixtures/console.ts'

const browser = oneBrowser()

/** Pages, and what is opened in them. */
const PAGES: readonly (readonly [name: string, link?: RegExp])[] = [
  ['overview'],
  ['inbox', /Sure/],
  ['calls'],
  ['calls', /confirm/],
  ['tools'],
  ['tools', /ours_add/],
  ['definitions'],
  ['settings'],
  ['none'],
]

test('the overview shows each server with its era, its state and the reason, and the gateway itself', async () => {
  const { servers } = await serversOfBothEras(testIsOver)
  const gone = { gone: { url: 'http://127.0.0.1:9/mcp' } }
  const { address, origin, url } = await serveConsole({ ...servers, ...gone })
  const { page, errors } = await openPage(await browser())
  const elsewhere: string[] = []
  page.on('request', (request) => request.url().startsWith(origin) || elsewhere.push(request.url()))
  await page.goto(address)
  const card = (name: string) => page.locator('.card').filter({ has: page.getByRole('heading', { name, exact: true }) })
  await card('ours').getByText('2026-07-28, stateless era').waitFor()
  expect(page.url()).toBe(`${origin}/console`)
  await card('ours').getByText('It speaks a revision of MCP that has no sessions.').first().waitFor()
  await card('http').getByText('session era').waitFor()
  await card('stdio')
    .getByText(/\d process/)
    .waitFor()
  await card('gone').getByText('down').waitFor()
  await card('Gateways').getByText('3 of 4 up').waitFor()
  const client = await askless('SDK v2', url)
  await client.call('ours_add', { a: 1, b: 2 })
  await card('ours').getByText('1 call, 0 failures in the last hour').waitFor()
  expect([errors, elsewhere]).toEqual([[], []])
})

describe('the inbox', () => {
  async function waiting() {
    const { url: bank, paid } = await startBank()
    const servers = { bank: { url: bank, pannier: { state: 'stateless' } } }
    const served = await serveConsole(servers, {}, { gateway: { store: storePath() } })
    const client = await askless('SDK v2', served.url)
    const { ticket } = waitingIn(await client.call('bank_transfer', { amount: 7 }))
    return { ...served, client, ticket, paid }
  }

  test('a question of a call is answered by keyboard alone, and the call continues', async () => {
    const { address, origin, client, ticket, paid } = await waiting()
    const { page, errors } = await openPage(await browser())
    await page.goto(address)
    await page.goto(`${origin}/console#/inbox`)
    const question = page.getByRole('link', { name: /Transfer 7/ })
    await question.waitFor()
    await tabTo(page, 'A', 'Transfer 7')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'bank_transfer asks' }).waitFor()
    await tabTo(page, 'INPUT', '')
    await page.keyboard.press('Space')
    await tabTo(page, 'BUTTON', 'Accept')
    await page.keyboard.press('Enter')
    await page
      .getByText(/It was answered .* in the console/)
      .first()
      .waitFor()
    expect(textOf(await client.call('continue_call', { ticket }))).toBe('transferred 7')
    expect([paid, errors]).toEqual([[7], []])
  })

  test('of two people who answer at once the second is told who was first', async () => {
    const { address, origin } = await waiting()
    const pages = [await openPage(await browser()), await openPage(await browser())]
    for (const { page } of pages) {
      await page.goto(address)
      await page.goto(`${origin}/console#/inbox`)
      await page.getByRole('link', { name: /Transfer 7/ }).click()
      await page.getByLabel('Yes').check()
    }
    await Promise.all(pages.map(({ page }) => page.getByRole('button', { name: 'Accept' }).click()))
    for (const { page } of pages)
      await page
        .getByText(/This question is closed\./)
        .first()
        .waitFor()
  })

  test('what does not fit is refused with its reason, and the question stays open', async () => {
    const { address, origin } = await waiting()
    const entered = await fetch(address, { redirect: 'manual' })
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? ''
    const { page } = await openPage(await browser())
    await page.goto(address)
    await page.goto(`${origin}/console#/inbox`)
    await page.getByRole('link', { name: /Transfer 7/ }).click()
    const id = decodeURIComponent(page.url().split('/').at(-1) ?? '')
    const answer = (params: object) =>
      fetch(`${origin}/console/api/act`, {
        method: 'POST',
        headers: { cookie, origin },
        body: JSON.stringify({ action: 'questions.answer', params: { id, ...params } }),
      })
    const wrong = await answer({ action: 'accept', content: { sure: 'perhaps' } })
    expect([wrong.status, await wrong.json()]).toEqual([422, { error: expect.stringContaining('sure') }])
    expect((await answer({ action: 'perhaps' })).status).toBe(400)
    expect((await answer({ action: 'decline' })).status).toBe(200)
    expect((await answer({ action: 'accept', content: { sure: true } })).status).toBe(409)
    await page.getByText('This question is closed.').waitFor()
  })
})

test('a changed definition is shown word by word, and is served once it is accepted', async () => {
  const offer = async (description: string, port = 0) => {
    const server = createServer({ name: 'notes', version: '1', keys: KEYS, logger: quiet })
    server.tool('read', { description, input: z.object({ path: z.string() }) }, () => 'read')
    const listening = await server.listen({ port, drainOnTerm: false })
    return { ...listening, end: () => server.drain({ deadlineMs: 0 }) }
  }
  const before = await offer('Reads a note.')
  const pins = join(dirname(storePath()), 'pins.json')
  const servers = { notes: { url: before.url, pannier: { definitions: 'pin' } } }
  const first = await serveConsole(servers, {}, { gateway: { pins } })
  await first.gateway.judged()
  await Promise.all([first.gateway.drain({ deadlineMs: 0 }), before.end()])
  const after = await offer('Reads a note and sends it.', before.port)
  onTestFinished(() => after.end())
  const { address, origin, gateway, url } = await serveConsole(servers, {}, { gateway: { pins } })
  await gateway.judged()
  const { page } = await openPage(await browser())
  await page.goto(address)
  await page.goto(`${origin}/console#/definitions`)
  await page.locator('ins', { hasText: 'and sends it' }).waitFor()
  const client = await askless('SDK v2', url)
  expect(await client.tools()).not.toContain('notes_read')
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.getByText('Nothing waits.').waitFor()
  await expect.poll(() => client.tools()).toContain('notes_read')
})

test('the settings show what is set, hide what is secret, and say what a reload would change', async () => {
  const { url } = await modernServer()
  const file = join(dirname(storePath()), 'mcp.json')
  const top = { admin: { port: 0 }, keys: KEYS, limits: { requestsPerMinute: 600 } }
  const write = (more: object, gateway: object = {}) =>
    writeFileSync(
      file,
      JSON.stringify({ gateway: { ...top, ...gateway }, mcpServers: { ours: { url }, ...more } }, null, 2),
    )
  write({})
  const gateway = createGateway({ ...(await readGatewayConfig(file)), logger: quiet })
  await gateway.listen({ drainOnTerm: false })
  onTestFinished(() => gateway.drain({ deadlineMs: 0 }))
  const { console: address = '' } = (await gateway.listenAdmin()) ?? {}
  const { page } = await openPage(await browser())
  await page.goto(address)
  await page.goto(`${new URL(address).origin}/console#/settings`)
  await page.getByText('would change nothing').waitFor()
  await page.getByRole('row', { name: /limits.*600/ }).waitFor()
  await page.getByRole('row', { name: /keys.*not shown/ }).waitFor()
  await page.getByRole('row', { name: /stateful.*default/ }).waitFor()
  expect(await page.content()).not.toContain(KEYS)
  write({ docs: { url } }, { catalogue: 'search' })
  const reload = page.getByRole('region', { name: 'A reload' })
  await reload.getByText('docs').waitFor()
  await reload.getByText('catalogue').waitFor()
  write({ docs: { url: 5 } })
  await reload.getByText('cannot be used').waitFor()
  await reload.getByText(/Line \d+:/).waitFor()
})

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test('axe-core finds nothing, and no page is wider than a phone or a wide screen', async () => {
    const { servers } = await serversOfBothEras(testIsOver)
    const gone = { gone: { url: 'http://127.0.0.1:9/mcp' } }
    const { address, origin, url } = await serveConsole(
      { ...servers, ...gone },
      {},
      { gateway: { store: storePath() } },
    )
    waitingIn(await (await askless('SDK v2', url)).call('ours_confirm'))
    const { page } = await openPage(await browser(), { colorScheme })
    await page.goto(address)
    for (const width of [360, 1440]) {
      await page.setViewportSize({ width, height: 800 })
      for (const [name, link] of PAGES) {
        await page.goto(`${origin}/console#/${name}`)
        await page.locator('.page, .notice').first().waitFor()
        if (link !== undefined) {
          await page.getByRole('main').getByRole('link', { name: link }).first().click()
          await page.getByRole('heading', { level: 2 }).first().waitFor()
        }
        expect([name, width, await findingsOf(page)]).toEqual([name, width, []])
        expect([name, width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, width, width])
      }
    }
  })
})

test('a page says that its gateway does not answer, and where to look once another one is there', async () => {
  const { url } = await modernServer()
  const first = await serveConsole({ ours: { url } })
  const { page } = await openPage(await browser())
  await page.goto(first.address)
  await page.getByRole('heading', { name: 'ours' }).waitFor()
  await first.gateway.drain({ deadlineMs: 0 })
  await page.getByText('The gateway does not answer. It is tried again.').waitFor()
  await page.getByRole('heading', { name: 'ours' }).waitFor()
  const port = Number(new URL(first.origin).port)
  await serveConsole({ ours: { url } }, {}, { gateway: { admin: { host: '127.0.0.1', port } } })
  await page.getByText(/Open the address that the gateway printed/).waitFor()
})

/** Presses Tab until an element of this kind with this text has the focus. */
async function tabTo(page: Page, tag: string, text: string): Promise<void> {
  for (let times = 0; times < 40; times++) {
    await page.keyboard.press('Tab')
    const [name, inside] = await page.evaluate<[string, string]>(
      '[document.activeElement.tagName, document.activeElement.textContent]',
    )
    if (name === tag && inside.includes(text)) return
  }
  throw new Error(`No ${tag} with "${text}" is reached by Tab.`)
}

const RUN_AXE =
  'axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target).join()}`))'

async function findingsOf(page: Page): Promise<unknown> {
  await page.evaluate(axe.source)
  return page.evaluate(RUN_AXE)
}
