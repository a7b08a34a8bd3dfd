/** A server whose names, definitions and questions are meant for a browser to run, to turn around, or to choke on. */
import { createServer as createHost } from 'node:http'
import { expect, test } from 'vitest'
import { createServer } from 'pannier/server'
import { z } from 'zod'
import { hostUntil, testIsOver } from '../fixtures/until.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { askless } from '../questions/fixtures/askless.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { oneBrowser, openPage, serveConsole } from './fixtures/console.ts'

const browser = oneBrowser()

const SCRIPT = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>'
const TURNED = '\u202Egnp.exe\u2066 \u200F'
const LONG = 'A'.repeat(1024 * 1024)

/** What the browser has got. */
const SENT_BYTES = "performance.getEntriesByType('resource').reduce((sum, { transferSize }) => sum + transferSize, 0)"

/** A session-era server of 10,000 tools. */
function hostileHandler() {
  // A message has a limit of keys, so that most of the tools have only what they need.
  const hostile = { title: SCRIPT, description: TURNED + SCRIPT }
  const properties = { [SCRIPT]: { type: 'string', description: TURNED } }
  const tools = Array.from({ length: 10_000 }, (_, at) => ({
    name: `tool_${at}`,
    ...(at < 20 && { ...hostile, description: at === 0 ? LONG : hostile.description }),
    inputSchema: { type: 'object', ...(at < 20 && { properties }) },
  }))
  const info = { name: 'hostile', title: SCRIPT + TURNED, version: SCRIPT }
  const results: Readonly<Record<string, object>> = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: info, instructions: SCRIPT },
    'tools/list': { tools },
    ping: {},
  }
  return createHost((req, res) => {
    let text = ''
    req.on('data', (chunk: Buffer) => (text += chunk.toString()))
    req.on('end', () => {
      const { id, method } = (text === '' ? {} : JSON.parse(text)) as { id?: number; method?: string }
      const result = results[method ?? '']
      if (id === undefined) return void res.writeHead(req.method === 'POST' ? 202 : 405).end()
      const error = { code: -32_601, message: SCRIPT }
      const answer = result === undefined ? { error } : { result }
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })
  }).listeners('request')[0] as Parameters<typeof hostUntil>[0]
}

test('every text of a hostile server is shown as text, and its masses are not sent to the page', async () => {
  const { url } = await hostUntil(hostileHandler(), testIsOver)
  const asking = createServer({ name: 'asking', version: '1', keys: KEYS, logger: quiet })
  asking.tool('ask', { description: 'Asks.' }, async (_, ctx) => {
    const schema = z.object({
      [SCRIPT]: z
        .string()
        .max(20)
        .meta({ title: SCRIPT + TURNED, description: SCRIPT }),
    })
    return JSON.stringify(await ctx.ask('first', { message: `${SCRIPT}${TURNED}${'B'.repeat(50_000)}`, schema }))
  })
  const { url: askingUrl } = await asking.listen({ drainOnTerm: false })
  testIsOver(() => asking.drain({ deadlineMs: 0 }))
  const servers = { hostile: { url, pannier: { definitions: 'freeze' } }, asking: { url: askingUrl } }
  const served = await serveConsole(servers, {}, { gateway: { store: storePath() } })
  await served.gateway.judged()
  const client = await askless('SDK v2', served.url)
  await client.call('asking_ask')
  const { page, errors } = await openPage(await browser(), { viewport: { width: 360, height: 800 } })
  await page.goto(served.address)
  await page.getByText('5,000 tools').waitFor() // the gateway takes no more of one server
  await page.getByText(SCRIPT).first().waitFor()
  for (const name of ['overview', 'definitions', 'settings', 'inbox']) {
    await page.goto(`${served.origin}/console#/${name}`)
    await page.locator('.page').first().waitFor()
    if (name === 'inbox') {
      await page.getByRole('link', { name: /onerror/ }).click()
      await page.getByRole('textbox').fill('an answer')
    }
    expect([name, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, 360])
    expect([name, await page.title()]).toEqual([name, expect.stringContaining('Pannier console')])
    expect(await page.locator('main img, main script').count()).toBe(0)
  }
  await page.getByRole('button', { name: 'Accept' }).click()
  await page
    .getByText(/It was answered/)
    .first()
    .waitFor()
  expect(errors).toEqual([])
  const sent = await page.evaluate(SENT_BYTES)
  expect(sent).toBeLessThan(2 * 1024 * 1024)
})
