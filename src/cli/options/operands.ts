import type { Target } from '../../client/index.ts'
import { InputError } from '../exit.ts'

export interface TaskOperands {
  readonly target: Target
  readonly taskId: string
}

/** TARGET and ID. */
export function readTaskOperands(operands: readonly string[], server: readonly string[] | undefined): TaskOperands {
  const { target, values } = readOperands(operands, server, ['ID'])
  const [taskId = ''] = values
  return { target, taskId }
}

export function taskUsage(command: string): string {
  return `[options] TARGET ID\n       pannier task ${command} [options] ID -- COMMAND …`
}

/** Which server, on the command line: TARGET is the first operand, or a command at the end of the line, after `--`. */

interface CommandLine {
  /** What is ours to read. */
  readonly own: readonly string[]
  /** The server's command and its arguments, where `--` stands before one. */
  readonly command: readonly string[] | undefined
}

/** Cuts the line at the first `--`: what follows belongs to the server, also what looks like an option of ours. */
export function splitCommand(line: readonly string[]): CommandLine {
  const at = line.indexOf('--')
  return at < 0 ? { own: line, command: undefined } : { own: line.slice(0, at), command: line.slice(at + 1) }
}

interface Operands {
  readonly target: Target
  /** What follows TARGET: as many as were wanted. */
  readonly values: readonly string[]
}

/** Reads TARGET and the operands with these names. */
export function readOperands(
  operands: readonly string[],
  command: readonly string[] | undefined,
  names: readonly string[] = [],
): Operands {
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

/** What somebody typed here runs as if they had typed it alone: with the whole environment. */
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
