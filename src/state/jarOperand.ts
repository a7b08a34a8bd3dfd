/** The options of a program, as far as they are needed to find the first argument that is none. */
export interface Options {
  /** Those that stand alone. */
  readonly alone: RegExp
  /** Those with a value, as the next argument or after `=`. */
  readonly valued: RegExp
  /** Those of `valued` after whose value everything belongs to what was named by it (`python -m`). */
  readonly last?: RegExp
}

export interface Operands {
  /** The values given to an option, under any of its spellings. */
  given(...spellings: string[]): string[]
  /** From the first argument that is no option. */
  readonly rest: readonly string[]
}

export const NO_OPTIONS: Options = { alone: /^$/, valued: /^$/ }

/** Undefined where an option is not known: it might take the next argument, which then is not what we look for. */
export function readOperands(args: readonly string[], { alone, valued, last }: Options): Operands | undefined {
  const options: [string, string][] = []
  const given = (...spellings: string[]) =>
    options.filter(([name]) => spellings.includes(name)).map(([, value]) => value)
  for (let at = 0; at < args.length; at++) {
    const argument = args[at] ?? ''
    if (argument === '--') return { given, rest: args.slice(at + 1) }
    if (!argument.startsWith('-')) return { given, rest: args.slice(at) }
    if (alone.test(argument)) continue
    const [, name = argument, inline] = /^(--[^=]+)=(.*)$/s.exec(argument) ?? []
    if (!valued.test(name)) return undefined
    if (inline === undefined) at++
    options.push([name, inline ?? args[at] ?? ''])
    if (last?.test(name)) return { given, rest: args.slice(at + 1) }
  }
  return { given, rest: [] }
}
