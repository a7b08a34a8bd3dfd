/** Operands: TARGET comes first, or it is a command at the end of the line, after `--`. */
import type { Target } from '../../client/index.ts'
import { InputError } from '../exit.ts'

interface SplitCommandLine {
  /** The options and operands of this program. */
  readonly own: readonly string[]
  /** The server's command and its arguments, after `--`. */
  readonly command: readonly string[] | undefined
}

/** Splits the line at the first `--`. Everything after it belongs to the server, options included. */
export function splitCommand(line: readonly string[]): SplitCommandLine {
  const at = line.indexOf('--')
  return at < 0 ? { own: line, command: undefined } : { own: line.slice(0, at), command: line.slice(at + 1) }
}

export interface TargetOperands {
  readonly target: Target
  /** The operands after TARGET, one for each name. */
  readonly values: readonly string[]
}

/** Reads TARGET and the operands with these names; throws if their number is wrong. */
export function readTargetOperands(
  operands: readonly string[],
  command: readonly string[] | undefined,
  names: readonly string[] = [],
): TargetOperands {
  const wanted = command === undefined ? ['TARGET', ...names] : names
  const missing = wanted[operands.length]
  if (missing !== undefined) throw new InputError(missingText(missing, command === undefined))
  if (operands.length > wanted.length) throw new InputError(tooManyText(wanted))
  if (command !== undefined) return { target: typedCommand(command), values: operands }
  const [target = '', ...values] = operands
  if (!mayBeTarget(target) && values.some(isTarget)) throw new InputError(swappedText(names))
  return { target, values }
}

function mayBeTarget(operand: string): boolean {
  return operand.includes('#') || isTarget(operand)
}

function isTarget(operand: string): boolean {
  return /^https?:\/\/|\.jsonc?#/i.test(operand)
}

/** A command from the command line gets the whole environment, as if it were started from the shell. */
export function typedCommand(parts: readonly string[], cwd?: string): Target {
  const [command, ...args] = parts
  if (command === undefined) throw new InputError('Give a command after --, such as -- node server.js.')
  return { command, args, env: process.env as Record<string, string>, ...(cwd !== undefined && { cwd }) }
}

function missingText(name: string, mayBeCommand: boolean): string {
  if (name !== 'TARGET') return `${name} is missing; see --help.`
  return mayBeCommand ? 'TARGET is missing: a URL, file#name, or -- and a command at the end of the line.' : ''
}

function swappedText(names: readonly string[]): string {
  return `TARGET comes first, a URL or file#name; then ${names.join(' and ')}.`
}

function tooManyText(wanted: readonly string[]): string {
  const few = wanted.length === 0 ? 'no operands before --' : wanted.join(' and ')
  return `There are too many operands; this command takes ${few}.`
}
