/** What the probe was given to get in with, kept out of everything it says. */
import type { Address } from '../client/index.ts'
import { isObject } from '../protocol/index.ts'

const HIDDEN = '[hidden]'
/** What is shorter is a part of too many words. */
const MIN_CHARS = 6
const SECRET_NAME = /key|token|secret|pass|pwd|auth|cred|cookie|session/i

export class Secrets {
  #forms: readonly string[] = []

  /** A value that must not be seen, in any of the forms that a server could give it back in. */
  add(value: string): void {
    const found = formsOf(value).filter((form) => form.length >= MIN_CHARS)
    this.#forms = [...new Set([...this.#forms, ...found])].toSorted((a, b) => b.length - a.length)
  }

  hide(text: string): string {
    return this.#forms.reduce((shown, form) => shown.replaceAll(form, HIDDEN), text)
  }

  /** The same in every text of plain JSON. */
  hideIn<T>(value: T): T {
    return this.#hidden(value) as T
  }

  #hidden(value: unknown): unknown {
    if (typeof value === 'string') return this.hide(value)
    if (Array.isArray(value)) return value.map((item) => this.#hidden(item))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#hidden(item)]))
  }
}

export interface Given {
  readonly headers?: readonly Readonly<Record<string, string>>[]
  readonly urls?: readonly URL[]
}

/** Headers, the queries of addresses, and what an environment calls a secret. */
export function secretsOf(address: Address, { headers = [], urls = [] }: Given): Secrets {
  const secrets = new Secrets()
  const all = 'url' in address ? [new URL(address.url), ...urls] : urls
  for (const value of headers.flatMap((one) => Object.values(one))) secrets.add(value)
  for (const value of all.flatMap(({ searchParams }) => [...searchParams.values()])) secrets.add(value)
  const env = 'url' in address ? {} : (address.env ?? {})
  for (const [name, value] of Object.entries(env)) if (SECRET_NAME.test(name)) secrets.add(value)
  return secrets
}

function formsOf(value: string): string[] {
  // `Bearer x`, `Basic x`: the word before it is no secret, and what it encodes is.
  const [, bare = value] = /^[A-Za-z]+ +(\S.*)$/.exec(value) ?? []
  const decoded = /^Basic /i.test(value) ? Buffer.from(bare, 'base64').toString() : ''
  const parts = [value, bare, decoded, decoded.slice(decoded.indexOf(':') + 1)].filter((part) => part !== '')
  return parts.flatMap((part) => [part, JSON.stringify(part).slice(1, -1), encodeURIComponent(part)])
}
