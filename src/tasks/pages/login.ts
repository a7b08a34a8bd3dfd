/**
 * Logins at the page of a question: the code flow of OpenID Connect with PKCE. The server remembers nothing.
 *
 * - The start of a login (nonce, PKCE verifier, the page to return to) travels sealed in `state`, bound to a random id
 *   of the browser in a cookie. So any instance finishes the login, and only in the browser that began it.
 * - Who is logged in is a sealed cookie that expires soon. Logging out removes it.
 * - People return only to the page of a question, because its address was sealed.
 */
import { randomBytes } from 'node:crypto'
import type * as openid from 'openid-client'
import { type HeaderReader, isObject } from '../../protocol/index.ts'
import { digestOf, StateError } from '../../state/internal.ts'
import type { PageReply, PageRequest, Principal, SiteLogin } from '../../server/index.ts'
import { type LoginSettings, loginSettings } from './loginSettings.ts'

const BEGUN_SECONDS = 600
const PROVIDER_SECONDS = 10

/** Why a login has failed, for its person. */
export class LoginFailed extends Error {
  override readonly name = 'LoginFailed'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

interface BegunLogin {
  readonly nonce: string
  readonly verifier: string
  readonly page: string
}

export class PageLogin {
  readonly #site: SiteLogin
  readonly #settings: LoginSettings
  readonly #loggedIn: string
  readonly #browser: string
  #provider: Promise<Provider> | undefined

  constructor(site: SiteLogin) {
    this.#site = site
    this.#settings = loginSettings(site.options)
    const { cookies = '' } = site
    this.#loggedIn = `pannier-login${cookies}`
    this.#browser = `pannier-browser${cookies}`
  }

  /** Who is logged in, by the cookie of a request. */
  async principal(header: HeaderReader): Promise<Principal | undefined> {
    const cookie = readCookie(header, this.#loggedIn, this.#isSecure)
    const body = cookie === undefined ? undefined : await this.#opened('logged-in', cookie)
    return isObject(body) && typeof body['id'] === 'string' ? { ...body, id: body['id'] } : undefined
  }

  /** Sends a person to the provider, to return to this page. */
  async begin({ header }: PageRequest, page: string): Promise<PageReply> {
    const { library, config } = await this.#open()
    const { sealer } = this.#site
    const settings = this.#settings
    const browser = readCookie(header, this.#browser, this.#isSecure) ?? randomBytes(18).toString('base64url')
    const begun: BegunLogin = { nonce: library.randomNonce(), verifier: library.randomPKCECodeVerifier(), page }
    const content = { body: begun, id: library.randomState(), ttlSeconds: BEGUN_SECONDS }
    const to = library.buildAuthorizationUrl(config, {
      redirect_uri: this.#returnUrl,
      scope: settings.scopes.join(' '),
      code_challenge: await library.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: 'S256',
      state: await sealer.seal('login', { name: `begun ${digestOf(browser)}` }, content),
      nonce: begun.nonce,
    })
    const cookie = newCookie(this.#browser, browser, { seconds: BEGUN_SECONDS, isSecure: this.#isSecure })
    return redirect(to.href, cookie)
  }

  /** Handles the redirect back from the provider. Throws LoginFailed. */
  async finish({ header, query }: PageRequest): Promise<PageReply> {
    const { sealer } = this.#site
    const settings = this.#settings
    const begun = await this.#begunBy(header, query)
    const principal = settings.principal(await this.#claims(begun, query))
    if (principal === undefined) throw new LoginFailed(403, 'Your account may not log in here.')
    const content = { body: principal, id: digestOf(begun.nonce), ttlSeconds: settings.sessionSeconds }
    const sealed = await sealedSmall(async () => sealer.seal('login', { name: 'logged-in' }, content))
    const about = { seconds: settings.sessionSeconds, isSecure: this.#isSecure }
    return redirect(begun.page, newCookie(this.#loggedIn, sealed, about))
  }

  /** Logs out, and returns to this page. */
  end(page: string): PageReply {
    return redirect(page, newCookie(this.#loggedIn, '', { seconds: 0, isSecure: this.#isSecure }))
  }

  async #begunBy(header: HeaderReader, query: string): Promise<BegunLogin> {
    const browser = readCookie(header, this.#browser, this.#isSecure)
    const state = new URLSearchParams(query).get('state')
    const body = browser && state ? await this.#opened(`begun ${digestOf(browser)}`, state) : undefined
    if (!isObject(body)) throw new LoginFailed(400, NOT_BEGUN)
    return { nonce: String(body['nonce']), verifier: String(body['verifier']), page: String(body['page']) }
  }

  async #claims({ nonce, verifier }: BegunLogin, query: string): Promise<Readonly<Record<string, unknown>>> {
    const { library, config } = await this.#open()
    const address = new URL(`${this.#returnUrl}?${query}`)
    const expectedState = address.searchParams.get('state') ?? ''
    try {
      const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState, idTokenExpected: true }
      const tokens = await library.authorizationCodeGrant(config, address, checks)
      return tokens.claims() ?? {}
    } catch (cause) {
      const isRefused = address.searchParams.has('error')
      throw new LoginFailed(isRefused ? 403 : 400, isRefused ? NOT_LOGGED_IN : NOT_CONFIRMED, { cause })
    }
  }

  /** The provider, read once. After a failure the next login tries again. */
  #open(): Promise<Provider> {
    this.#provider ??= openProvider(this.#settings).catch((cause: unknown) => {
      this.#provider = undefined
      if (cause instanceof LoginFailed) throw cause
      throw new LoginFailed(503, 'The login service does not answer. Try again in a moment.', { cause })
    })
    return this.#provider
  }

  async #opened(name: string, token: string): Promise<unknown> {
    try {
      const { body } = await this.#site.sealer.open('login', { name }, token)
      return body
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }

  get #returnUrl(): string {
    const url = this.#site.returnUrl()
    if (url === undefined)
      throw new LoginFailed(503, 'This server does not know its address: its operator sets questions.url.')
    return url
  }

  get #isSecure(): boolean {
    return this.#site.returnUrl()?.startsWith('https:') ?? false
  }
}

interface Provider {
  readonly library: typeof openid
  readonly config: openid.Configuration
}

/** A package that its users install, because few servers have logins. */
async function loadOpenId(): Promise<typeof openid> {
  try {
    return await import('openid-client')
  } catch (cause) {
    throw new LoginFailed(503, NOT_INSTALLED, { cause })
  }
}

async function openProvider({ issuer, clientId, clientSecret }: LoginSettings): Promise<Provider> {
  const library = await loadOpenId()
  const execute = issuer.startsWith('http:') ? [library.allowInsecureRequests] : []
  const options = { execute, timeout: PROVIDER_SECONDS }
  const config = await library.discovery(new URL(issuer), clientId, {}, authentication(library, clientSecret), options)
  return { library, config }
}

/** Basic, the default of OpenID Connect, if the provider lists it or lists nothing. */
function authentication(library: typeof openid, secret: string | undefined): openid.ClientAuth {
  if (secret === undefined) return library.None()
  const [basic, post] = [library.ClientSecretBasic(secret), library.ClientSecretPost(secret)]
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...request)
  }
}

const NOT_INSTALLED = 'This server cannot log people in: its operator runs npm install openid-client.'
const NOT_BEGUN = 'This login was not begun in this browser, or it took too long. Open the link of the question again.'
const NOT_LOGGED_IN = 'The login service did not log you in. Open the link of the question to try again.'
const NOT_CONFIRMED = 'The login service did not confirm this login. Open the link of the question to try again.'
const TOO_LARGE =
  'Your account has too many claims for a cookie. The operator of this server sets questions.login.principal.'

async function sealedSmall(seal: () => Promise<string>): Promise<string> {
  try {
    return await seal()
  } catch (error) {
    if (error instanceof StateError) throw new LoginFailed(500, TOO_LARGE, { cause: error })
    throw error
  }
}

function redirect(location: string, cookie: string): PageReply {
  const headers = { location, 'set-cookie': cookie, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return { status: 303, headers, type: 'text/html; charset=utf-8', body: '' }
}

interface CookieOptions {
  /** The life of the cookie; 0 removes it. */
  readonly seconds: number
  /** Whether the pages are served over https. */
  readonly isSecure: boolean
}

/**
 * Over https the names of cookies have the prefix `__Host-`, so that no other host, and no page without TLS, can set them. A
 * request that another site makes brings them only when it opens a page.
 */
function newCookie(name: string, value: string, { seconds, isSecure }: CookieOptions): string {
  const attributes = `Path=/; Max-Age=${Math.floor(seconds)}; HttpOnly; SameSite=Lax`
  return `${fullName(name, isSecure)}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`
}

/** The value of a cookie. Undefined where it is absent, empty, or sent twice: one of the two is somebody else's. */
function readCookie(header: HeaderReader, name: string, isSecure: boolean): string | undefined {
  const start = `${fullName(name, isSecure)}=`
  const found = (header('cookie') ?? '').split(/[;,] */).filter((pair) => pair.startsWith(start))
  return found.length === 1 ? found[0]?.slice(start.length) || undefined : undefined
}

function fullName(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name
}
