/** Logins at the console, by OpenID Connect: the flow of the pages of questions, and the roles of the settings. */
import type { HeaderReader, Json } from '../../../protocol/index.ts'
import { hasClaim, type Principal } from '../../../server/internal.ts'
import { createRoundSealer, type Keyring } from '../../../state/seal/index.ts'
import { LoginFailed, PageLogin } from '../../../tasks/internal.ts'
import type { ConsoleLoginSettings } from '../../config/index.ts'
import { CONSOLE_ROLES, type ConsoleRole } from '../../consoleRole.ts'
import { RefusedError } from './refused.ts'
import type { ConsoleViewer, LoginStep } from './types.ts'

const AUDIENCE = 'pannier-gateway console'
const SESSION_SECONDS = 8 * 3600

export class ConsoleLogin {
  readonly #settings: ConsoleLoginSettings
  readonly #login: PageLogin
  #console = ''

  constructor(settings: ConsoleLoginSettings, keyring: Keyring) {
    const { issuer, clientId, clientSecret, scopes } = settings
    this.#settings = settings
    this.#login = new PageLogin({
      options: {
        issuer,
        clientId,
        sessionSeconds: SESSION_SECONDS,
        ...(clientSecret !== undefined && { clientSecret }),
        ...(scopes && { scopes }),
      },
      sealer: createRoundSealer({ keyring, audience: AUDIENCE, ttlSeconds: SESSION_SECONDS }),
      returnUrl: () => `${this.#console}/login`,
      isReturn: () => false,
      cookies: '-console',
    })
  }

  /** The viewer, or the answer to a browser. Throws RefusedError. */
  async answer({ step, cookie, query, console }: LoginStep): Promise<Json> {
    this.#console = console
    const header: HeaderReader = (name) => (name === 'cookie' ? cookie : undefined)
    const request = { method: 'GET', path: '/console/login', query, header, declaredBytes: 0, whole: noBody }
    if (step === 'who') return { viewer: this.#viewer(await this.#login.principal(header)) }
    try {
      const page = step === 'begin' ? this.#login.begin(request, '/console') : this.#login.finish(request)
      const { status, headers } = await page
      return { status, headers }
    } catch (error) {
      throw error instanceof LoginFailed ? new RefusedError(error.status, error.message) : error
    }
  }

  /** Null for strangers, and for people without a role. */
  #viewer(principal: Principal | undefined): (ConsoleViewer & Json) | null {
    const role = principal && this.#roleOf(principal)
    return principal && role ? { role, name: principal.subject ?? principal.id, principal } : null
  }

  /** The highest one. */
  #roleOf(principal: Principal): ConsoleRole | undefined {
    const { roles } = this.#settings
    return CONSOLE_ROLES.findLast((role) => roles[role]?.some((name) => hasClaim(principal, name)))
  }
}

async function noBody(): Promise<Uint8Array> {
  return new Uint8Array()
}
