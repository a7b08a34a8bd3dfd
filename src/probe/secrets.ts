/** Secret values that the probe was given or received, and that nothing it shows or reports may contain. */
import type { Address } from '../client/index.ts'
import { isObject } from '../protocol/index.ts'

/** Shown in place of a secret. */
export const HIDDEN = '[hidden]'
/** Shorter values are not replaced: they occur in too many ordinary words. */
const MIN_CHARS = 6
const SECRET_NAME = /key|token|secret|pass|pwd|auth|cred|cookie|session/i

export interface GivenCredentials {
  readonly headers?: readonly Readonly<Record<string, string>>[]
  readonly urls?: readonly URL[]
  /** Words that stay readable although a value may equal one of them. @default none */
  readonly publicWords?: readonly string[]
}

/**
 * Collects header values, query strings, long path segments, and values that the environment or arguments name as
 * secrets.
 */
export function secretsOf(address: Address, { headers = [], urls = [], publicWords = [] }: GivenCredentials): Secrets {
  const secrets = new Secrets(publicWords)
  const values = [
    ...headers.flatMap((one) => Object.values(one)),
    ...urls.flatMap(secretsInUrl),
    ...('url' in address ? secretsInUrl(new URL(address.url)) : secretsInCommand(address.args, address.env ?? {})),
  ]
  for (const value of values) secrets.add(value)
  return secrets
}

export class Secrets {
  readonly #publicWords: readonly string[]
  #forms: readonly string[] = []

  constructor(publicWords: readonly string[]) {
    this.#publicWords = publicWords
  }

  /** Hides this value from now on, in every form in which a server could repeat it. */
  add(value: string): void {
    const found = formsOf(String(value)).filter((form) => form.length >= MIN_CHARS && !this.#isPublic(form))
    this.#forms = [...new Set([...this.#forms, ...found])].toSorted((a, b) => b.length - a.length)
  }

  hide(text: string): string {
    return this.#forms.reduce((shown, form) => shown.replaceAll(form, HIDDEN), text)
  }

  /** Hides secrets in every string of plain JSON. */
  hideIn<T>(value: T): T {
    return this.#hidden(value) as T
  }

  #hidden(value: unknown): unknown {
    if (typeof value === 'string') return this.hide(value)
    if (Array.isArray(value)) return value.map((item) => this.#hidden(item))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#hidden(item)]))
  }

  #isPublic(form: string): boolean {
    return this.#publicWords.some((word) => word.includes(form))
  }
}

/** A value in its plain, JSON-escaped and percent-encoded forms; `Basic` credentials also decoded. */
function formsOf(value: string): string[] {
  // In `Bearer x` and `Basic x` the scheme is no secret.
  const [, bare = value] = /^[A-Za-z]+ +(\S.*)$/.exec(value) ?? []
  const decoded = /^Basic /i.test(value) ? Buffer.from(bare, 'base64').toString() : ''
  const parts = [value, bare, decoded, decoded.slice(decoded.indexOf(':') + 1)].filter((part) => part !== '')
  return parts.flatMap((part) => [part, JSON.stringify(part).slice(1, -1), percentEncoded(part)])
}

/** encodeURIComponent throws on lone surrogates. */
function percentEncoded(part: string): string {
  return encodeURIComponent(part.toWellFormed())
}

/** The query, and long segments of the path: some services put the user's key there. */
function secretsInUrl({ search, searchParams, pathname }: URL): readonly string[] {
  const query = [...searchParams].map(([name, value]) => (value === '' ? name : value))
  return [search.slice(1), ...query, ...pathname.split('/').filter((piece) => piece.length >= 25)]
}

/** Values whose option or variable has the name of a secret, and passwords in URLs. */
function secretsInCommand(args: readonly string[], env: Readonly<Record<string, string>>): readonly string[] {
  // `--api-key x`, `--api-key=x` and `API_KEY=x`.
  const options = args.map((argument, at) => [args[at - 1] ?? '', argument] as const)
  const assigned = args.map((argument) => /^(-[^=]*|[A-Z_]+)=(.*)$/s.exec(argument)?.slice(1) ?? [])
  const named = [...options.filter(([name]) => name.startsWith('-')), ...assigned, ...Object.entries(env)]
  const passwords = [...args, ...Object.values(env)].map(passwordIn)
  return [...named.filter(([name = '']) => SECRET_NAME.test(name)).map(([, value = '']) => value), ...passwords]
}

/** `postgres://ann:secret@host/`, also as the value of an option. */
function passwordIn(text: string): string {
  return /:\/\/[^/:@\s]*:([^/@\s]+)@/.exec(text)?.[1] ?? ''
}
