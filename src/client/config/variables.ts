/**
 * The variables that may stand in a configuration file: `${VAR}`, `${VAR:-default}`, `${env:VAR}` and a few places; and
 * `$COPILOT_MCP_VAR`, as files of Copilot have it.
 */
import { ClientError } from '../errors.ts'

export interface Variables {
  /** The environment. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Names such as `workspaceFolder`, which editors define. */
  readonly places: Readonly<Record<string, string>>
}

const REFERENCE = /\$\{([^}]*)\}|\$(COPILOT_MCP_\w+)/g

/** Puts the values in. A name without a value is an error that says the name; values are never part of an error. */
export function expandVariables(text: string, variables: Variables, where: string): string {
  return text.replace(REFERENCE, (_, reference: string | undefined, bare = '') =>
    valueOf(reference ?? String(bare), variables, where),
  )
}

function valueOf(reference: string, { env, places }: Variables, where: string): string {
  const { name, fallback } = readReference(reference)
  if (name.startsWith('input:')) throw missing(name, where, 'It is asked for by an editor; write ${VAR} in its place.')
  const known = own(places, name) ?? own(env, name.replace(/^env:/, ''))
  // As in a shell: the default also stands in for an empty value.
  const value = fallback === undefined ? known : known || fallback
  if (value === undefined) throw missing(name.replace(/^env:/, ''), where, 'Set it in the environment.')
  return value
}

function own(values: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function readReference(reference: string): { name: string; fallback: string | undefined } {
  const at = reference.indexOf(':-')
  return at < 0
    ? { name: reference.trim(), fallback: undefined }
    : { name: reference.slice(0, at).trim(), fallback: reference.slice(at + 2) }
}

function missing(name: string, where: string, advice: string): ClientError {
  return new ClientError('CONFIG_VARIABLE_MISSING', `${where}: there is no value for the variable "${name}". ${advice}`)
}
