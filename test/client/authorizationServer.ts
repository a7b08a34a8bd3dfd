/** An authorization server and a kitchen that trusts it, for one person: whoever logs in is Ann. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { AuthError, createServer as createMcpServer } from 'pannier/server'
import { KEYS, quiet } from '../interop/instances.ts'

export interface AuthorizationServer {
  readonly mcpUrl: string
  /** How often somebody logged in. */
  readonly visits: number
  /** Follows an address as a browser would, to the end, and gives the page. */
  visit(address: string): Promise<string>
  /** Comes back without a code. */
  refuse(address: URL): Promise<void>
  close(): void
}

export async function authorizationServer(): Promise<AuthorizationServer> {
  const codes = new Map<string, string>()
  let visits = 0
  let base = ''
  const http = createServer((req, res) => void answer(req, res))

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', base)
    const json = (value: object): void => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    if (url.pathname === '/authorize') {
      visits++
      const code = `code${visits}`
      codes.set(code, url.searchParams.get('code_challenge') ?? '')
      const back = new URL(url.searchParams.get('redirect_uri') ?? '')
      for (const [name, value] of [
        ['code', code],
        ['state', url.searchParams.get('state') ?? ''],
      ] as const) {
        back.searchParams.set(name, value)
      }
      res.writeHead(302, { location: back.href }).end()
    } else if (url.pathname === '/token') {
      const form = new URLSearchParams(await text(req))
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
      if (codes.get(form.get('code') ?? '') !== challenge)
        return void res.writeHead(400).end('{"error":"invalid_grant"}')
      json({ access_token: 'ann', token_type: 'Bearer', expires_in: 3600 })
    } else if (url.pathname === '/register') {
      const { redirect_uris } = JSON.parse(await text(req))
      json({ client_id: 'me', redirect_uris })
    } else if (url.pathname.startsWith('/.well-known/oauth-protected-resource')) {
      json({ resource: mcpUrl, authorization_servers: [base] })
    } else if (url.pathname.startsWith('/.well-known/')) {
      json({
        issuer: base,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        registration_endpoint: `${base}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      })
    } else mcp.nodeHandler()(req, res)
  }

  const mcp = createMcpServer({
    name: 'kitchen',
    version: '1',
    keys: KEYS,
    logger: quiet,
    principal: ({ header }) => {
      if (header('authorization') === 'Bearer ann') return { id: 'ann' }
      const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`
      throw new AuthError('AUTH_MISSING', 'Log in.', { challenge })
    },
  })
  mcp.tool('who', { description: 'Says who calls.' }, (_, ctx) => ctx.principal?.id ?? 'nobody')
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const mcpUrl = `${base}/mcp`
  return {
    mcpUrl,
    get visits() {
      return visits
    },
    visit: async (address) => (await fetch(address)).text(),
    async refuse(address) {
      const back = new URL(address.searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('error', 'access_denied')
      back.searchParams.set('state', address.searchParams.get('state') ?? '')
      await fetch(back)
    },
    close: () => {
      http.close()
      http.closeAllConnections()
    },
  }
}
