/** Calls and their timelines, as a browser shows them, from processes of a gateway that serve the rounds by turns. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { testIsOver } from '../fixtures/until.ts'
import { serversOfBothEras } from '../gateway/fixtures/bothEras.ts'
import { call, connectClient } from '../gateway/fixtures/gateways.ts'
import { startBalancer } from '../survival/balancer.ts'
import { oneBrowser, openPage, serveConsole } from './fixtures/console.ts'

const browser = oneBrowser()

async function servedByTurns() {
  const { servers } = await serversOfBothEras(testIsOver)
  const [first, second] = [await serveConsole(servers), await serveConsole(servers)]
  const balancer = await startBalancer()
  testIsOver(() => balancer.close())
  balancer.targets = [first.url, second.url]
  const { page, errors } = await openPage(await browser())
  await page.goto(first.address)
  await page.getByRole('link', { name: 'Calls' }).click()
  return { url: balancer.url, page, errors, second }
}

const eventsOf = (page: Page): Promise<string> => page.getByRole('region', { name: 'Events' }).innerText()

test('the rounds of a call appear as one call, with the process of each, its questions and who answered', async () => {
  const { url, page, errors } = await servedByTurns()
  const client = await connectClient('v2', url)
  expect(await call(client, 'http_confirm')).toBe('accept true, accept true')
  await page.getByRole('link', { name: 'confirm', exact: true }).first().click()
  await page.getByText('complete', { exact: true }).first().waitFor()
  const events = await eventsOf(page)
  expect(events).toMatch(
    /Round 1 begins in Process \d[^]*asked: [^]*Round 2 begins in Process \d[^]*answered: [^]*accept, after /,
  )
  expect(events).toContain('runs the round for')
  expect(await page.locator('.lane').count()).toBe(2)
  expect(errors).toEqual([])
})

test('a call of a session-era client is one round that shows when it was asked and answered', async () => {
  const { url, page } = await servedByTurns()
  const client = await connectClient('v1', url)
  await call(client, 'ours_confirm')
  await page.getByRole('link', { name: 'confirm', exact: true }).first().click()
  expect(await eventsOf(page)).toMatch(/asked: first[^]*answered: first · accept[^]*asked: second[^]*Ends: complete/)
})
