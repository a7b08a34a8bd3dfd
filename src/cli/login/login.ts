/**
 * Login with the browser: an OAuth provider for the SDK. Tokens are stored by server in a file of the user, so that the
 * next call needs no login.
 */
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { type Authorizer, openPage, plainLine, readVisitAddress } from '../../client/index.ts'
import { type Login, type LoginFile, loginFile } from './file.ts'

export interface LoginHost {
  /** Shows a line to the person. */
  readonly note: (text: string) => void
  readonly signal: AbortSignal
  /** @default the system's browser */
  readonly open?: (url: string) => Promise<void>
}

export interface BrowserLogin {
  readonly authorizer: Authorizer
  close(): void
}

export async function browserLogin(serverUrl: string, path: string, host: LoginHost): Promise<BrowserLogin> {
  const file = loginFile(path, serverUrl)
  const loopback = await openLoopback((await file.load()).redirectUrl)
  const { redirectUrl } = loopback
  const load = async (): Promise<Login> => {
    const stored = await file.load()
    // A client that was registered with another redirect URL has to register again.
    return stored.redirectUrl === redirectUrl ? stored : { ...stored, client: undefined }
  }
  let login = await load()
  const turn = flowTurn(file, async () => {
    login = await load()
  })
  const authorizer = authorizerOf({
    redirectUrl,
    read: () => login,
    change: async (changed) => {
      login = { ...login, ...changed, redirectUrl }
      await file.save(login)
    },
    visit: (state) => loopback.visit(state, host.signal),
    show: (url) => {
      turn.end() // other flows need not wait for a person, who gets new tokens anyway
      return showLoginPage(url, host)
    },
    exclusive: turn.exclusive,
  })
  return { authorizer, close: loopback.close }
}

/**
 * The stored login, for a program without a person. It refreshes tokens; if that fails, the request is refused. Undefined without a stored login.
 */
export async function storedLogin(serverUrl: string, path: string): Promise<Authorizer | undefined> {
  const file = loginFile(path, serverUrl)
  let login = await file.load()
  if (login.tokens === undefined) return undefined
  let ended: unknown
  const { exclusive } = flowTurn(file, async () => {
    const stored = await file.load()
    if (!isDeepStrictEqual(stored.tokens, ended)) login = stored
  })
  const refuse = (): never => {
    throw new UnauthorizedError('The login has ended.')
  }
  const authorizer = authorizerOf({
    redirectUrl: login.redirectUrl ?? `http://127.0.0.1${PATH}`,
    read: () => login,
    change: async (changed) => {
      login = { ...login, ...changed }
      await file.save(login)
    },
    visit: refuse,
    show: refuse,
    exclusive,
  })
  const { invalidateCredentials } = authorizer
  return {
    ...authorizer,
    // A new login, or another program, may have changed the tokens. The file keeps them.
    invalidateCredentials: async (what) => {
      if (what === 'discovery' || what === 'verifier') return invalidateCredentials?.(what)
      const stored = await file.load()
      const isEnded = isDeepStrictEqual(stored.tokens, login.tokens)
      if (isEnded) ended = stored.tokens
      login = isEnded ? { ...login, tokens: undefined } : stored
    },
  }
}

interface FlowTurn {
  readonly exclusive: NonNullable<Authorizer['exclusive']>
  /** Lets others begin before the flow is over. */
  end(): void
}

/** One flow at a time with the tokens of a server, which are read again at its beginning. */
function flowTurn(file: LoginFile, reread: () => Promise<void>): FlowTurn {
  let end = (): void => {}
  return {
    exclusive: async (flow) => {
      end = await file.lock()
      try {
        await reread()
        await flow()
      } finally {
        end()
      }
    },
    end: () => end(),
  }
}

interface Parts extends Pick<FlowTurn, 'exclusive'> {
  readonly redirectUrl: string
  read(): Login
  change(changed: Partial<Login>): Promise<void>
  visit(state: string): Promise<URLSearchParams>
  show(url: URL): Promise<void>
}

function authorizerOf({ redirectUrl, read, change, visit, show, exclusive }: Parts): Authorizer {
  let verifier = ''
  let state = ''
  let discovery: OAuthDiscoveryState | undefined
  let visited: Promise<URLSearchParams> | undefined
  return {
    redirectUrl,
    exclusive,
    clientMetadata: {
      client_name: 'pannier',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => {
      state = randomBytes(24).toString('base64url')
      return state
    },
    clientInformation: () => read().client as StoredOAuthClientInformation | undefined,
    saveClientInformation: (client) => change({ client }),
    tokens: () => read().tokens as StoredOAuthTokens | undefined,
    saveTokens: (tokens) => change({ tokens }),
    saveCodeVerifier: (given) => {
      verifier = given
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (given) => {
      discovery = given
    },
    discoveryState: () => discovery,
    invalidateCredentials: async (what) => {
      if (what === 'discovery' || what === 'all') discovery = undefined
      if (what === 'client' || what === 'all') await change({ client: undefined })
      if (what === 'tokens' || what === 'all') await change({ tokens: undefined })
    },
    redirectToAuthorization: async (url) => {
      visited = visit(state)
      visited.catch(() => undefined)
      await show(url)
    },
    authorizationResponse: async () => (await visited) ?? new URLSearchParams(),
  }
}

/** The server chose this address: the person sees its host before the browser opens it, and unsafe ones are refused. */
async function showLoginPage({ href }: URL, { note, open = openPage }: LoginHost): Promise<void> {
  const address = readVisitAddress(href)
  if (address.kind === 'refused') {
    note(`The server asks you to log in at an address that is not opened. ${address.reason}`)
    throw new UnauthorizedError('The address of the login is not opened.')
  }
  const { host, warnings } = address
  const sentences = [`The server asks you to log in at ${host}.`, ...warnings, 'If no browser opens, visit:']
  note(`${plainLine(sentences.join(' '), 1_000)}\n${address.href}`)
  await open(address.href).catch(() => undefined)
}

interface Loopback {
  readonly redirectUrl: string
  /** Resolves to the query of the visit with this state. Other visits get 404. */
  visit(state: string, signal: AbortSignal): Promise<URLSearchParams>
  close(): void
}

/** The path of the redirect URL: a page on the loopback interface to which the browser returns (RFC 8252). */
const PATH = '/callback'
const LOGIN_MS = 5 * 60_000

/** Listens on the port of an earlier login where it is free, because some servers compare the whole redirect URL. */
async function openLoopback(earlier: string | undefined): Promise<Loopback> {
  const visits = new Map<string, (query: URLSearchParams) => void>()
  const server = createServer((request, response) => respond(request, response, visits))
  await listenOn(server, portOf(earlier)).catch(() => listenOn(server, 0))
  const { port } = server.address() as AddressInfo
  // A login that is not completed does not keep the process alive.
  server.unref()
  return {
    redirectUrl: `http://127.0.0.1:${port}${PATH}`,
    visit: (state, signal) =>
      new Promise((resolve, reject) => {
        server.ref()
        const limit = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_MS)])
        limit.addEventListener('abort', () => reject(new UnauthorizedError('No login in time.')), { once: true })
        visits.set(state, (query) => {
          visits.delete(state)
          server.unref()
          resolve(query)
        })
      }),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function portOf(url: string | undefined): number {
  return url !== undefined && URL.canParse(url) ? Number(new URL(url).port) : 0
}

function listenOn(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
}

function respond(
  request: IncomingMessage,
  response: ServerResponse,
  visits: ReadonlyMap<string, (query: URLSearchParams) => void>,
): void {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1')
  const visit = visits.get(url.searchParams.get('state') ?? '')
  const isOurs = request.method === 'GET' && url.pathname === PATH && visit !== undefined
  response.writeHead(isOurs ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(isOurs ? 'Done. You can close this window and go back to the terminal.\n' : 'Nothing here.\n')
  if (isOurs) visit(url.searchParams)
}
