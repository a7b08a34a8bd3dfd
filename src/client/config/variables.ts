/**
 * Variables in configuration files: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, names that editors define such as
 * `${workspaceFolder}`, and `$COPILOT_MCP_VAR`, which is Copilot's form.
 */
import { ClientError } from '../errors.ts'

export interface Variables {
  /** The environment. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The variables that editors define, such as `workspaceFolder`. */
  readonly places: Readonly<Record<string, string>>
}

const REFERENCE = /\$\{([^}]*)\}|\$(COPILOT_MCP_\w+)/g

/** Replaces variables by their values. Throws for one without a value; the error has its name, and never a value. */
export function expandVariables(text: string, variables: Variables, where: string): string {
  return text.replace(REFERENCE, (_, reference: string | undefined, copilotName = '') =>
    valueOf(reference ?? String(copilotName), variables, where),
  )
}

function valueOf(reference: string, { env, places }: Variables, where: string): string {
  const { name, fallback } = readReference(reference)
  if (name.startsWith('input:'))
    throw missing(name, where, 'Only an editor can ask for its value; write ${VAR} in its place.')
  const known = own(places, name) ?? own(env, name.replace(/^env:/, ''))
  // As in a shell, the default also replaces an empty value.
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
