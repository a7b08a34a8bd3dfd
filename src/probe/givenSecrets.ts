/** What the probe was given to get in with, or was given beside it: none of it may show. */
import type { Address } from '../client/index.ts'
import { Secrets } from './secrets.ts'

const SECRET_NAME = /key|token|secret|pass|pwd|auth|cred|cookie|session/i

export interface Given {
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
