import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { offersLogin } from './authorizationAddress.ts'

type Answers = Readonly<Record<string, (res: ServerResponse, origin: string) => void>>

const refuses = (res: ServerResponse): void => void res.writeHead(401).end()
const json = (res: ServerResponse, body: object): void =>
  void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

async function offeredBy(answers: Answers): Promise<boolean> {
  const host = createServer((req, res) => {
    const { port } = host.address() as AddressInfo
    const answer = answers[new URL(req.url ?? '', 'http://any').pathname]
    if (answer === undefined) res.writeHead(404).end()
    else answer(res, `http://127.0.0.1:${port}`)
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    host.close()
    host.closeAllConnections()
  })
  return offersLogin({ url: `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp` })
}

test.each<[string, boolean, Answers]>([
  ['answers 401 and says nothing else', false, { '/mcp': refuses }],
  ['answers 401 to everything', false, { '/mcp': refuses, '/authorize': refuses }],
  ['answers 403, for whatever reason', true, { '/mcp': (res) => void res.writeHead(403).end() }],
  ['answers', true, { '/mcp': (res) => json(res, {}) }],
  [
    'names its metadata in the challenge',
    true,
    {
      '/mcp': (res, origin) =>
        void res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${origin}/meta"` }).end(),
    },
  ],
  [
    'has metadata at the place for it',
    true,
    {
      '/mcp': refuses,
      '/.well-known/oauth-protected-resource/mcp': (res, origin) =>
        json(res, { resource: `${origin}/mcp`, authorization_servers: [origin] }),
    },
  ],
  [
    'has a login page as in 2025-03-26, and no metadata',
    true,
    { '/mcp': refuses, '/authorize': (res) => void res.writeHead(400).end() },
  ],
])('a server that %s offers a login, as far as is known: %s', async (_, offers, answers) => {
  expect(await offeredBy(answers)).toBe(offers)
})
