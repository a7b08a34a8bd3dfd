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
  /** Whether a reference stays unchanged because its value is filled in later. @default never */
  readonly stays?: (name: string) => boolean
  /** Called with each value of the environment that replaces a reference. */
  readonly onValue?: (value: string) => void
}

/** A variable without a value. */
export interface MissingVariable {
  readonly name: string
  readonly advice: string
}

/** A text with its variables replaced; or the first one without a value. */
export type Expansion = { readonly text: string } | { readonly missing: MissingVariable }

const REFERENCE = /\$\{([^}]*)\}|\$(COPILOT_MCP_\w+)/g

export function expand(text: string, variables: Variables): Expansion {
  let missing: MissingVariable | undefined
  const expanded = text.replace(REFERENCE, (whole, reference: string | undefined, copilotName = '') => {
    const value = valueOf(reference ?? String(copilotName), whole, variables)
    if (typeof value === 'string') return value
    missing ??= value
    return whole
  })
  return missing === undefined ? { text: expanded } : { missing }
}

/**
 * Replaces variables by their values. Throws for a variable without a value; the error has the variable's name, and
 * never a value.
 */
export function expandVariables(text: string, variables: Variables, where: string): string {
  const expansion = expand(text, variables)
  if ('text' in expansion) return expansion.text
  const { name, advice } = expansion.missing
  const sentence = `${where}: there is no value for the variable "${name}". ${advice}`
  throw new ClientError('CONFIG_VARIABLE_MISSING', sentence)
}

function valueOf(reference: string, whole: string, variables: Variables): string | MissingVariable {
  const { env, places, stays, onValue } = variables
  const { name, fallback } = readReference(reference)
  if (stays?.(name)) return whole
  if (name.startsWith('input:')) return { name, advice: INPUT }
  const place = own(places, name)
  const known = place ?? own(env, name.replace(/^env:/, ''))
  if (place === undefined && known !== undefined) onValue?.(known)
  // As in a shell, the default also replaces an empty value.
  const value = fallback === undefined ? known : known || fallback
  if (value !== undefined) return value
  return { name: name.replace(/^env:/, ''), advice: name.startsWith('principal.') ? PRINCIPAL : UNSET }
}

const INPUT = 'Only an editor can ask for its value; write ${VAR} in its place.'
const PRINCIPAL = 'Only the gateway knows it, in the "headers" and the "env" of a server.'
const UNSET = 'Set it in the environment.'

function own(values: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function readReference(reference: string): { name: string; fallback: string | undefined } {
  const at = reference.indexOf(':-')
  return at < 0
    ? { name: reference.trim(), fallback: undefined }
    : { name: reference.slice(0, at).trim(), fallback: reference.slice(at + 2) }
}
