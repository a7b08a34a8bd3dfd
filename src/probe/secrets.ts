/** Values that are kept out of everything the probe says. */
import type { Address } from '../client/index.ts'
import { isObject, LEGACY_VERSIONS, MODERN_VERSION } from '../protocol/index.ts'
import { METHODS, STATES } from './methods/result.ts'
import { CHECKS } from './report/evidence.ts'

export const HIDDEN = '[hidden]'
/** What is shorter is a part of too many words. */
const MIN_CHARS = 6

/** What anybody may read in a verdict. Hidden, it would be no verdict, and nobody could tell what is said about sessions. */
const OUR_WORDS: readonly string[] = [
  ...STATES,
  ...CHECKS,
  ...Object.keys(METHODS),
  ...LEGACY_VERSIONS,
  ...'transport control declaration nothing legacy modern unknown medium'.split(' '),
  ...'sessions initialized initialization stateless stateful'.split(' '),
  MODERN_VERSION,
]

export class Secrets {
  #forms: readonly string[] = []

  /** A value that must not be seen, in any of the forms that a server could give it back in. */
  add(value: string): void {
    const found = formsOf(String(value)).filter((form) => form.length >= MIN_CHARS && !isOurWord(form))
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

function isOurWord(form: string): boolean {
  return OUR_WORDS.some((word) => word.includes(form))
}

function formsOf(value: string): string[] {
  // `Bearer x`, `Basic x`: the word before it is no secret, and what it encodes is.
  const [, bare = value] = /^[A-Za-z]+ +(\S.*)$/.exec(value) ?? []
  const decoded = /^Basic /i.test(value) ? Buffer.from(bare, 'base64').toString() : ''
  const parts = [value, bare, decoded, decoded.slice(decoded.indexOf(':') + 1)].filter((part) => part !== '')
  return parts.flatMap((part) => [part, JSON.stringify(part).slice(1, -1), encoded(part)])
}

/** Half a character cannot be encoded. */
function encoded(part: string): string {
  return encodeURIComponent(part.toWellFormed())
}

/** What the probe was given to get in with, or was given beside it: none of it may show. */

const SECRET_NAME = /key|token|secret|pass|pwd|auth|cred|cookie|session/i

interface Given {
  readonly headers?: readonly Readonly<Record<string, string>>[]
  readonly urls?: readonly URL[]
}

/** Headers, what addresses hold beside the place, and what an environment or arguments call a secret. */
export function secretsOf(address: Address, { headers = [], urls = [] }: Given): Secrets {
  const secrets = new Secrets()
  const values = [
    ...headers.flatMap((one) => Object.values(one)),
    ...urls.flatMap(secretsInUrl),
    ...('url' in address ? secretsInUrl(new URL(address.url)) : secretsInCommand(address.args, address.env ?? {})),
  ]
  for (const value of values) secrets.add(value)
  return secrets
}

/** The query; and a long piece of the path, where some services have the key of their users. */
function secretsInUrl({ search, searchParams, pathname }: URL): readonly string[] {
  const query = [...searchParams].map(([name, value]) => (value === '' ? name : value))
  return [search.slice(1), ...query, ...pathname.split('/').filter((piece) => piece.length >= 25)]
}

function secretsInCommand(args: readonly string[], env: Readonly<Record<string, string>>): readonly string[] {
  // `--api-key x`, `--api-key=x`, and the same for an environment.
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
