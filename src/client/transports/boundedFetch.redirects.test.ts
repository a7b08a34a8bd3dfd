import { expect, test } from 'vitest'
import { sameOrigin } from './boundedFetch.ts'

function serving(redirects: Record<string, [status: number, location: string]>) {
  const asked: string[] = []
  const fetch = sameOrigin(async (input, init) => {
    const url = String(input)
    asked.push(`${init?.method} ${url} ${init?.body as string}`)
    const [status, location] = redirects[url] ?? [200, '']
    return new Response(status === 200 ? url : null, { status, ...(location && { headers: { location } }) })
  })
  return { asked, post: (url: string) => fetch(url, { method: 'POST', body: 'hi' }) }
}

test('a redirect within the origin is followed with method and body', async () => {
  const { asked, post } = serving({ 'https://a.example/mcp': [307, '/mcp/'] })
  expect(await (await post('https://a.example/mcp')).text()).toBe('https://a.example/mcp/')
  expect(asked).toEqual(['POST https://a.example/mcp hi', 'POST https://a.example/mcp/ hi'])
})

test.each<[string, number, string]>([
  ['another host', 307, 'https://b.example/mcp'],
  ['another port', 308, 'https://a.example:8443/mcp'],
  ['another protocol', 307, 'http://a.example/mcp'],
  ['a method that would change', 302, '/mcp/'],
  ['nowhere', 307, 'http://'],
])('a redirect to %s is not followed', async (_, status, location) => {
  const { asked, post } = serving({ 'https://a.example/mcp': [status, location] })
  expect((await post('https://a.example/mcp')).status).toBe(status)
  expect(asked).toHaveLength(1)
})

test('a circle of redirects has an end', async () => {
  const { asked, post } = serving({ 'https://a.example/1': [307, '/2'], 'https://a.example/2': [307, '/1'] })
  expect((await post('https://a.example/1')).status).toBe(307)
  expect(asked).toHaveLength(4)
})

test('a redirect is let go of before the next request is sent', async () => {
  const log: string[] = []
  const body = new ReadableStream({
    cancel: async () => {
      await new Promise((resolve) => setImmediate(resolve))
      log.push('let go')
    },
  })
  const fetch = sameOrigin(async (input) => {
    log.push(String(input))
    return String(input).endsWith('/')
      ? new Response('here')
      : new Response(body, { status: 307, headers: { location: '/mcp/' } })
  })
  await fetch('https://a.example/mcp')
  expect(log).toEqual(['https://a.example/mcp', 'let go', 'https://a.example/mcp/'])
})
