/** The servers to probe: one, or all entries of an mcp.json file. */
import { statSync } from 'node:fs'
import { entryNames, nameOf, type Target } from '../../client/index.ts'
import { typedCommand } from './operands.ts'
import { InputError } from '../exit.ts'

export interface ProbeTarget {
  readonly name: string
  readonly target: Target
}

export interface ProbeTargets {
  readonly targets: readonly ProbeTarget[]
  /** Whether a single server was named, and not a file with one entry. */
  readonly isOne: boolean
}

export async function readProbeTargets(
  operands: readonly string[],
  command: readonly string[] | undefined,
): Promise<ProbeTargets> {
  if (command !== undefined) {
    if (operands.length > 0) throw new InputError('Give TARGET or a command after --, not both.')
    const target = typedCommand(command)
    return { targets: [{ name: nameOf(target), target }], isOne: true }
  }
  const targets = (await Promise.all(operands.map(targetsOf))).flat()
  if (targets.length > 0) return { targets, isOne: operands.length === 1 && !operands.some(isConfigFile) }
  const missing = 'TARGET is missing: a URL, an mcp.json file, file#name, or -- and a command at the end of the line.'
  throw new InputError(operands.length === 0 ? missing : 'The file names no servers.')
}

async function targetsOf(operand: string): Promise<readonly ProbeTarget[]> {
  if (!isConfigFile(operand)) {
    assertMayBeUrl(operand)
    return [{ name: nameOf(operand), target: operand }]
  }
  return (await entryNames(operand)).map((name) => ({ name, target: `${operand}#${name}` }))
}

function isConfigFile(operand: string): boolean {
  return /\.jsonc?$/i.test(operand) && !/^https?:/i.test(operand)
}

/** Throws for a path or a program's name: the library would read them as an address. */
function assertMayBeUrl(operand: string): void {
  const found = statSync(operand, { throwIfNoEntry: false })
  if (found?.isDirectory()) throw new InputError(`${operand} is a folder; name the mcp.json file in it.`)
  if (found !== undefined) {
    throw new InputError(`${operand} is no .json file. To start a program, write -- and its command at the end.`)
  }
  if (/^[\w-]+$/.test(operand)) throw new InputError(`To start a program, write -- before it: -- ${operand} …`)
}
