/**
 * Credentials for a server. Some are the same for all callers; the rest belong to one caller, and a link opened with
 * them never serves another caller.
 */
import type { Address } from '../../client/index.ts'
import type { Logger, Principal } from '../../server/internal.ts'
import { type BackendConfig, dependOnPrincipal, headerFault, valuesFor, withoutPrincipal } from '../config/index.ts'
import { BackendError } from '../errors.ts'
import type { Credentials } from '../links/relayed.ts'
import { inTime } from '../waiting.ts'

/**
 * Looks up the credentials of a caller for a server; undefined if the caller needs none of its own. Called for each
 * request. An error refuses the request.
 */
export type CredentialsHook = (
  principal: Principal | undefined,
  server: Pick<BackendConfig, 'name' | 'address'>,
) => Credentials | undefined | Promise<Credentials | undefined>

/** The caller as far as a request identifies it. */
interface CallerIdentity {
  readonly principal: Principal | undefined
  readonly authorization?: string | undefined
}

type CallerHeaders = Readonly<Record<string, string>> | undefined

export interface CallerCredentialsOptions {
  readonly config: BackendConfig
  readonly hook: CredentialsHook | undefined
  readonly logger: () => Logger
}

/** The address for the gateway's own requests: without headers and variables that depend on a principal. */
export function ownAddress(address: Address): Address {
  if ('url' in address) return { ...address, headers: withoutPrincipal(address.headers) }
  return { ...address, env: withoutPrincipal(address.env) }
}

export class CallerCredentials {
  readonly #options: CallerCredentialsOptions
  /** The headers that are the same for all callers. */
  readonly #shared: CallerHeaders
  readonly #arePersonal: boolean

  constructor(options: CallerCredentialsOptions) {
    this.#options = options
    const own = ownAddress(options.config.address)
    this.#shared = 'url' in own ? own.headers : undefined
    this.#arePersonal = this.arePersonal
  }

  /** Whether the configuration gives callers their own headers or variables. */
  get arePersonal(): boolean {
    const { address, settings } = this.#options.config
    return settings.forwardAuthorization || dependOnPrincipal('url' in address ? address.headers : address.env)
  }

  get mayDiffer(): boolean {
    return this.#options.hook !== undefined || this.#arePersonal
  }

  /** The caller's own credentials; undefined if all callers have the same. */
  async of(caller: CallerIdentity): Promise<Credentials | undefined> {
    const { hook } = this.#options
    if (hook === undefined && !this.arePersonal) return undefined
    const given = hook && (await this.#ask(hook, caller.principal))
    if (given === undefined && !this.arePersonal) return undefined
    const configured = this.#configured(caller)
    const headers = { ...configured.headers, ...given?.headers }
    for (const [name, value] of Object.entries(headers)) this.#assertSendable(name, value)
    const env = { ...configured.env, ...given?.env }
    return { headers, ...(Object.keys(env).length > 0 && { env }) }
  }

  /** All headers for this caller; synchronous if they are the same for all callers. */
  headersFor(caller: CallerIdentity): CallerHeaders | Promise<CallerHeaders> {
    if (this.#options.hook === undefined && !this.#arePersonal) return this.#shared
    return this.of(caller).then((own) => own?.headers ?? this.#shared)
  }

  #configured({ principal, authorization }: CallerIdentity): Credentials {
    const { address, settings } = this.#options.config
    const isHttp = 'url' in address
    const found = isHttp
      ? valuesFor('header', address.headers, principal)
      : valuesFor('variable', address.env, principal)
    if (found.kind === 'refused') throw this.#refused(found.sentence)
    if (!isHttp) return { env: found.values }
    const forwarded = settings.forwardAuthorization && authorization !== undefined && { authorization }
    return { headers: { ...found.values, ...forwarded } }
  }

  async #ask(hook: CredentialsHook, principal: Principal | undefined): Promise<Credentials | undefined> {
    const { config, logger } = this.#options
    const { name, address, settings } = config
    const late = (): Error => new Error('It took too long.')
    try {
      return await inTime(hook(principal, { name, address }), settings.startSeconds * 1000, late)
    } catch (error) {
      // The message may hold a secret of the hook's source.
      const kind = error instanceof Error ? error.name : typeof error
      logger().error({ server: name, error: kind }, 'The credentials of a caller could not be looked up.')
      throw this.#refused('The credentials of this caller for it could not be looked up. Call again later.', error)
    }
  }

  #assertSendable(name: string, value: unknown): void {
    const fault = typeof value === 'string' ? headerFault(name, value) : 'has a value that is no text.'
    if (fault !== undefined) throw this.#refused(`A header for this caller ${fault}`)
  }

  #refused(sentence: string, cause?: unknown): BackendError {
    return new BackendError('BACKEND_REFUSED', this.#options.config.name, `was not asked. ${sentence}`, { cause })
  }
}
