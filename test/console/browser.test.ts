/** The console in a real browser, before real servers of both eras. */
import { expect, test } from 'vitest'
import { serversOfBothEras } from '../gateway/fixtures/bothEras.ts'
import { testIsOver } from '../fixtures/until.ts'
import { oneBrowser, openPage, serveConsole } from './fixtures/console.ts'

const browser = oneBrowser()

test('the address that the gateway prints opens the overview, and the token is gone from it', async () => {
  const { servers } = await serversOfBothEras(testIsOver)
  const { address, origin } = await serveConsole(servers)
  const { page, errors } = await openPage(await browser())
  const elsewhere: string[] = []
  page.on('request', (request) => request.url().startsWith(origin) || elsewhere.push(request.url()))
  await page.goto(address)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(page.url()).toBe(`${origin}/console`)
  for (const name of Object.keys(servers)) await page.getByRole('heading', { name }).waitFor()
  expect([errors, elsewhere]).toEqual([[], []])
})
