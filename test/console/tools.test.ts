/** Tools called in a browser: their questions in place, their results, and who may call them. */
import { expect, test } from 'vitest'
import { testIsOver } from '../fixtures/until.ts'
import { serversOfBothEras } from '../gateway/fixtures/bothEras.ts'
import { oneBrowser, openPage, serveConsole } from './fixtures/console.ts'

const browser = oneBrowser()

async function opened() {
  const { servers } = await serversOfBothEras(testIsOver)
  const { address, origin } = await serveConsole(servers)
  const { page, errors } = await openPage(await browser())
  await page.goto(address)
  await page.getByRole('link', { name: 'Tools' }).click()
  return { page, errors, origin }
}

test.each(['ours', 'http'])('a tool of the server %s is called, asks twice in place, and answers', async (server) => {
  const { page, errors } = await opened()
  await page.getByLabel('Name or description has').fill('confirm')
  await page.getByRole('link', { name: `${server}_confirm` }).click()
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  for (const message of ['Sure?', 'Really?']) {
    const asked = page.getByRole('region', { name: 'Questions' })
    await asked.getByText(message, { exact: true }).waitFor()
    await asked.getByLabel('Yes').check()
    await asked.getByRole('button', { name: 'Answer' }).click()
  }
  const result = page.getByRole('region', { name: 'Result' })
  await result.getByText('accept true, accept true').waitFor()
  await page.getByText('Messages on the wire').click()
  const wire = await page.locator('details[open]').innerText()
  expect(wire.match(/requestState/g)?.length).toBeGreaterThan(1)
  expect(errors).toEqual([])
})

test('arguments come from a form of the schema or as JSON, and a mistake is shown in words', async () => {
  const { page } = await opened()
  await page.getByRole('link', { name: 'ours_add' }).click()
  await page.getByLabel('a', { exact: true }).fill('2')
  await page.getByLabel('b', { exact: true }).fill('3')
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.getByRole('region', { name: 'Result' }).getByText('5', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'As JSON' }).click()
  await page.getByLabel('Arguments, as JSON').fill('{"a":"two"}')
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.getByRole('region', { name: 'Result' }).getByText(/"?a"?/).first().waitFor()
  await page.getByLabel('Arguments, as JSON').fill('[')
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.getByText('The arguments are no JSON object.').waitFor()
})

test('a page of another origin, and a message that calls no tool, are refused', async () => {
  const { page, origin } = await opened()
  const cookies = await page.context().cookies()
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const act = (message: object, from = origin) =>
    fetch(`${origin}/console/api/act`, {
      method: 'POST',
      headers: { cookie, origin: from },
      body: JSON.stringify({ action: 'tools.call', params: { message } }),
    })
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ours_add', arguments: {} } }
  expect((await act(call, 'http://127.0.0.1:1')).status).toBe(403)
  expect((await act({ ...call, method: 'tools/list' })).status).toBe(400)
})
