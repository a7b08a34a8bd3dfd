/**
 * A server that refuses requests, and names addresses for a login that it may not name. Each door that looks for a login is
 * tried. The bystander listens on this machine under an address that counts as another network: 0.0.0.0, which connects to
 * loopback.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestListener, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { pannier } from '../cli/fixtures/program.ts'
import { startGateway } from './fixtures/gateways.ts'

async function listening(onRequest: RequestListener): Promise<number> {
  return (await hostUntil(onRequest)).port
}

interface Places {
  readonly own: string
  readonly bystander: string
}

type Answers = Readonly<Record<string, (res: ServerResponse, places: Places) => void>>

const json = (res: ServerResponse, body: object): void =>
  void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const RESOURCE = '/.well-known/oauth-protected-resource/mcp'
const AUTHORIZATION_SERVER = '/.well-known/oauth-authorization-server'
const refuses = (res: ServerResponse): void => void res.writeHead(401).end()

const metadata = (own: string, named: object): object => ({
  issuer: `${own}/`,
  authorization_endpoint: `${own}/authorize`,
  token_endpoint: `${own}/token`,
  response_types_supported: ['code'],
  ...named,
})

const SERVERS: readonly (readonly [string, Answers])[] = [
  [
    'authorization server',
    {
      '/mcp': refuses,
      [RESOURCE]: (res, { own, bystander }) =>
        json(res, { resource: `${own}/mcp`, authorization_servers: [`${bystander}/deep`] }),
    },
  ],
  [
    'resource metadata',
    {
      '/mcp': (res, { bystander }) =>
        void res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${bystander}/meta"` }).end(),
    },
  ],
  [
    'registration',
    {
      '/mcp': refuses,
      [AUTHORIZATION_SERVER]: (res, { own, bystander }) =>
        json(res, metadata(own, { registration_endpoint: `${bystander}/register` })),
    },
  ],
  ...[302, 307].map(
    (status) =>
      [
        `redirect ${status} of its metadata`,
        {
          '/mcp': refuses,
          [RESOURCE]: (res: ServerResponse, { bystander }: Places) =>
            void res.writeHead(status, { location: `${bystander}/meta` }).end(),
        },
      ] as const,
  ),
]

/** The address of a server that answers so, and what the bystander was asked. */
async function hostileServer(answers: Answers) {
  const asked: string[] = []
  const bystander = await listening((req, res) => {
    asked.push(`${req.method} ${req.url}`)
    res.writeHead(404).end()
  })
  const port = await listening((req, res) => {
    const answer = answers[new URL(req.url ?? '', 'http://any').pathname]
    if (answer === undefined) res.writeHead(404).end()
    else answer(res, { own: `http://127.0.0.1:${port}`, bystander: `http://0.0.0.0:${bystander}` })
  })
  const folder = mkdtempSync(join(tmpdir(), 'pannier-addresses-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'mcp.json')
  const servers = { hostile: { url: `http://127.0.0.1:${port}/mcp` } }
  writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  return { asked, file, servers, env: { XDG_DATA_HOME: folder, PATH: '' } }
}

test.each(SERVERS)('a gateway sends nothing to a private address that a server names: %s', async (_, answers) => {
  const { asked, file, servers } = await hostileServer(answers)
  const { gateway } = await startGateway(servers, { file })
  expect(gateway.backends[0]?.connector.condition.kind).toBe('down')
  expect(asked).toEqual([])
})

test('a gateway reads little of metadata that has no end', async () => {
  let written = 0
  const closed = Promise.withResolvers<void>()
  const { file, servers } = await hostileServer({
    '/mcp': refuses,
    [RESOURCE]: (res) => {
      const more = (): void => {
        if (res.destroyed || written > 64 * 1024 * 1024) return closed.resolve()
        written += 65_536
        res.write('{},'.repeat(21_845) + ' ', () => more())
      }
      res.writeHead(200, { 'content-type': 'application/json' })
      res.once('close', closed.resolve)
      more()
    },
  })
  await startGateway(servers, { file })
  await closed.promise
  expect(written).toBeLessThan(16 * 1024 * 1024) // what the sockets hold, too
})

test.each(SERVERS)('nor do the login, a call with a login, and the probe: %s', async (_, answers) => {
  const { asked, file, env } = await hostileServer(answers)
  const lines = [
    ['login', `${file}#hostile`],
    ['tools', `${file}#hostile`, '--oauth'],
    ['probe', `${file}#hostile`],
  ]
  const ended = await Promise.all(lines.map((args) => pannier(args, { env })))
  expect(ended[0]?.status).not.toBe(0)
  expect(asked).toEqual([])
})
