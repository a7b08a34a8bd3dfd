/** Who sees the console, and what its answers allow a browser. */
import { expect, test } from 'vitest'
import { modernServer } from '../gateway/fixtures/gateways.ts'
import { serveConsole } from './fixtures/console.ts'

async function served() {
  const { url } = await modernServer()
  return serveConsole({ ours: { url } })
}

const cookieOf = (response: Response): string => response.headers.get('set-cookie')?.split(';')[0] ?? ''

test('the token in the address becomes a cookie that no script reads and no other site sends, and leaves the address', async () => {
  const { address, origin } = await served()
  const entered = await fetch(address, { redirect: 'manual' })
  expect([entered.status, entered.headers.get('location')]).toEqual([303, '/console'])
  const attributes = entered.headers.get('set-cookie')?.split('; ').slice(1)
  expect(attributes).toEqual(expect.arrayContaining(['HttpOnly', 'SameSite=Strict', 'Path=/console']))
  const me = await fetch(`${origin}/console/api/me`, { headers: { cookie: cookieOf(entered) } })
  expect(await me.json()).toMatchObject({ role: 'operator' })
})

test('without the cookie, and with a wrong token, there is the empty page and no data', async () => {
  const { origin } = await served()
  const page = await fetch(`${origin}/console`)
  expect([page.status, (await page.text()).includes('<div id="console"></div>')]).toEqual([200, true])
  const wrong = await fetch(`${origin}/console?token=wrong`, { redirect: 'manual' })
  expect(wrong.headers.get('set-cookie')).toBeNull()
  for (const cookie of ['', cookieOf(wrong), `pannier-console-${new URL(origin).port}=x`]) {
    for (const path of ['me', 'stream?topic=overview']) {
      const answer = await fetch(`${origin}/console/api/${path}`, { headers: { cookie } })
      expect([answer.status, await answer.json()]).toEqual([
        401,
        { error: expect.stringContaining('token'), hasLogin: false },
      ])
    }
  }
})

test('a change needs the origin of the page', async () => {
  const { address, origin } = await served()
  const cookie = cookieOf(await fetch(address, { redirect: 'manual' }))
  const change = (headers: Record<string, string>) =>
    fetch(`${origin}/console/api/act`, { method: 'POST', headers: { cookie, ...headers }, body: '{"action":"none"}' })
  for (const headers of [{}, { origin: 'http://127.0.0.1:1' }, { origin, 'sec-fetch-site': 'cross-site' }])
    expect((await change(headers)).status).toBe(403)
  expect((await change({ origin })).status).toBe(404)
})

test('the page may run its own scripts alone, and no page frames it', async () => {
  const { origin } = await served()
  const page = await fetch(`${origin}/console`)
  const policy = page.headers.get('content-security-policy') ?? ''
  for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
    expect(policy).toContain(rule)
  expect(policy).not.toContain('unsafe')
  expect(await page.text()).not.toMatch(/<script(?![^>]*src=)|<style|style=|https?:\/\//)
  expect((await fetch(`${origin}/console/assets/../../package.json`)).status).toBe(404)
})
