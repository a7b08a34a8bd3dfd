/** The options of a program, as far as they are needed to find the first argument that is none. */
export interface Options {
  /** Those that stand alone, as words. */
  readonly alone: string
  /** More of those that stand alone. */
  readonly aloneLike?: RegExp
  /** Those with a value, as the next argument or after `=`. */
  readonly valued: string
  /** Those with a value after which everything belongs to what it names (`python -m`). */
  readonly last?: string
}

export interface Operands {
  /** The values given to an option, under any of its spellings. */
  given(...spellings: readonly string[]): string[]
  /** From the first argument that is no option. */
  readonly rest: readonly string[]
}

/** Undefined where an option is not known: it might take the next argument, which then is not what we look for. */
export function readOperands(args: readonly string[], options: Options): Operands | undefined {
  const { alone, aloneLike, valued, last = '' } = options
  const found: [string, string][] = []
  const given = (...spellings: string[]) => found.filter(([name]) => spellings.includes(name)).map(([, value]) => value)
  for (let at = 0; at < args.length; at++) {
    const argument = args[at] ?? ''
    if (argument === '--') return { given, rest: args.slice(at + 1) }
    if (!argument.startsWith('-')) return { given, rest: args.slice(at) }
    if (isIn(alone, argument) || aloneLike?.test(argument)) continue
    const [, name = argument, inline] = /^(--[^=]+)=(.*)$/s.exec(argument) ?? []
    if (!isIn(valued, name) && !isIn(last, name)) return undefined
    if (inline === undefined) at++
    found.push([name, inline ?? args[at] ?? ''])
    if (isIn(last, name)) return { given, rest: args.slice(at + 1) }
  }
  return { given, rest: [] }
}

function isIn(words: string, word: string): boolean {
  return words.split(/\s+/).includes(word)
}
