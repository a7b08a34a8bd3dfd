/**
 * Who may look at the console. On loopback it is who has the token that the gateway prints at its start: the address with the token
 * sets a cookie, which every request for data needs. Beyond loopback it is who has logged in.
 *
 * - The page itself is public: it holds nothing of the gateway.
 * - The cookie is HttpOnly and SameSite=Strict. A change also needs the Origin of the page.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type HeaderReader, isObject, type Json } from '../../../protocol/index.ts'
import type { ConsoleRole } from '../../consoleRole.ts'
import type { ConsoleViewer, LoginStep } from './types.ts'

const SESSION_SECONDS = 12 * 3600
const RANK: Readonly<Record<ConsoleRole, number>> = { viewer: 0, approver: 1, operator: 2 }

const LOCAL_VIEWER: ConsoleViewer = { role: 'operator', name: 'this machine' }

export interface ConsoleAccessOptions {
  readonly isLocal: boolean
  /** Makes a step of a login; undefined where people do not log in. */
  readonly login: ((step: Pick<LoginStep, 'step' | 'cookie' | 'query'>) => Promise<Json>) | undefined
}

export class ConsoleAccess {
  /** Undefined beyond loopback. */
  readonly token: string | undefined
  readonly #session = randomBytes(24).toString('base64url')
  readonly #login: ConsoleAccessOptions['login']
  #cookie = 'pannier-console'

  constructor({ isLocal, login }: ConsoleAccessOptions) {
    this.#login = login
    this.token = isLocal ? randomBytes(24).toString('base64url') : undefined
  }

  /** Whether there is a console at all. */
  get isOpen(): boolean {
    return this.token !== undefined || this.#login !== undefined
  }

  get hasLogin(): boolean {
    return this.#login !== undefined
  }

  /** Sends a browser to the provider, or takes what it comes back with. */
  logIn(header: HeaderReader, query: string): Promise<Json> | undefined {
    const step = query === '' ? 'begin' : 'finish'
    return this.#login?.({ step, query, cookie: header('cookie') ?? '' })
  }

  /** Cookies count for all ports of a host, so that the name of this one has the port. */
  listensAt(port: number): void {
    this.#cookie = `pannier-console-${port}`
  }

  /** The cookie for the holder of the token; undefined for any other one. */
  cookieFor(given: string): string | undefined {
    if (this.token === undefined || !isSame(given, this.token)) return undefined
    return `${this.#cookie}=${this.#session}; Path=/console; Max-Age=${SESSION_SECONDS}; HttpOnly; SameSite=Strict`
  }

  /** Who asks; undefined for strangers. */
  async viewer(header: HeaderReader): Promise<ConsoleViewer | undefined> {
    const start = `${this.#cookie}=`
    const found = (header('cookie') ?? '').split(/; */).filter((pair) => pair.startsWith(start))
    const [value = ''] = found.map((pair) => pair.slice(start.length))
    if (this.token !== undefined && isSame(value, this.#session)) return LOCAL_VIEWER
    const who = await this.#login?.({ step: 'who', query: '', cookie: header('cookie') ?? '' })
    return who && isObject(who['viewer']) ? (who['viewer'] as Json & ConsoleViewer) : undefined
  }
}

/** Whether a request comes from the page itself. Browsers send the Origin with every POST. */
export function isOwnOrigin(header: HeaderReader): boolean {
  const [origin, site] = [header('origin'), header('sec-fetch-site')]
  if (origin === undefined || (site !== undefined && site !== 'same-origin')) return false
  return URL.canParse(origin) && new URL(origin).host === header('host')
}

export function mayDo({ role }: ConsoleViewer, needed: ConsoleRole): boolean {
  return RANK[role] >= RANK[needed]
}

/** A comparison in constant time. */
export function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'))
}
