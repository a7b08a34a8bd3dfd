/** The operator's login at a server over HTTP. All callers without their own credentials share it. */
import type { Address, Authorizer, HttpAddress } from '../../client/index.ts'
import { NO_LOGIN, NO_LOGIN_ADVICE, offersLogin } from '../../client/internal.ts'
import { type BackendConfig, shellWord } from '../config/index.ts'
import { type Via, VIA_HEADER } from '../loops.ts'
import { ownAddress } from './credentials.ts'

/** Looks up the login at a server; undefined if there is none. Called whenever a connection is opened. */
export type AuthorizerHook = (
  server: Pick<BackendConfig, 'name'> & Pick<HttpAddress, 'url'>,
) => Authorizer | undefined | Promise<Authorizer | undefined>

export interface OperatorLoginOptions {
  readonly config: BackendConfig
  readonly authorizer: AuthorizerHook | undefined
  readonly via: Via
  /** The file with the server's entry, if any. */
  readonly file: string | undefined
}

/** The credentials that a refusing server needs, and advice for an operator. */
export interface LoginDemand {
  /** As the end of a sentence. */
  readonly why: string
  readonly advice: string
}

export class OperatorLogin {
  readonly #options: OperatorLoginOptions

  constructor(options: OperatorLoginOptions) {
    this.#options = options
  }

  /** The demand of a server that refuses the gateway's own requests; undefined if its entry has credentials. */
  async demand(): Promise<LoginDemand | undefined> {
    const { config, file } = this.#options
    const address = ownAddress(config.address)
    if (!('url' in address) || !isOpen(config)) return undefined
    const hasTokens = (await (await this.authorizer())?.tokens()) !== undefined
    if (!hasTokens && !(await offersLogin(address))) return { why: NO_LOGIN, advice: NO_LOGIN_ADVICE }
    if (file === undefined) return undefined
    return { why: 'needs a login.', advice: `Log in with: pannier login ${shellWord(`${file}#${config.name}`)}` }
  }

  async authorizer(): Promise<Authorizer | undefined> {
    const { config, authorizer } = this.#options
    const { name, address } = config
    return 'url' in address && isOpen(config) ? authorizer?.({ name, url: address.url }) : undefined
  }

  /** The address for the probe, with the current token: the probe itself cannot log in. */
  async probedAddress(): Promise<Address> {
    const { config, via } = this.#options
    const address = ownAddress(config.address)
    if (!('url' in address)) return { ...address, env: { ...address.env, ...via.env } }
    const tokens = await (await this.authorizer())?.tokens()
    const authorization = tokens && { authorization: `Bearer ${tokens.access_token}` }
    return { ...address, headers: { ...address.headers, [VIA_HEADER]: via.header, ...authorization } }
  }
}

/** Whether a login may be used: the entry has no token and forwards no caller's token. */
function isOpen({ address, settings }: BackendConfig): boolean {
  if (!('url' in address) || 'openapi' in address || settings.forwardAuthorization) return false
  return !Object.keys(address.headers ?? {}).some((name) => name.toLowerCase() === 'authorization')
}
