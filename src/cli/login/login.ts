/**
 * Login with the browser: an OAuth provider for the SDK. Tokens are stored by server in a file of the user, so that the
 * next call needs no login.
 */
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { type Authorizer, openPage, plainLine, readVisitAddress } from '../../client/index.ts'
import { openLoopback } from './loopback.ts'
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
      turn.end() // nobody waits for a person, who gets tokens that are new to all
      return showLoginPage(url, host)
    },
    exclusive: turn.exclusive,
  })
  return { authorizer, close: loopback.close }
}

/**
 * The login of an earlier visit, for a program that nobody watches: tokens are refreshed, and where that is not possible
 * the request is refused. Undefined where nobody has logged in.
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
    redirectUrl: login.redirectUrl ?? 'http://127.0.0.1/callback',
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
    // Somebody may have logged in again, or another program may have refreshed the tokens. What is in the file stays.
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
