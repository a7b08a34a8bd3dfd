/**
 * Prefixes and whose they are, found by lookup: neither the owner of a name nor a clash is searched among all servers.
 * What begins with a prefix and its separator has it up to one of its own separators, so only those places are looked at.
 */

/** Between the prefix of a server and its own name of a tool or prompt: `github_search`. */
export const SEPARATOR = '_'

export class PrefixIndex<Owner> {
  readonly #owners = new Map<string, Owner>()
  /** The beginnings of all prefixes, up to each separator, with the first owner of each. */
  readonly #beginnings = new Map<string, Owner>()

  /** The first owner of a prefix keeps it. */
  add(prefix: string, owner: Owner): void {
    const start = prefix + SEPARATOR
    if (!this.#owners.has(start)) this.#owners.set(start, owner)
    for (const beginning of beginningsOf(start))
      if (!this.#beginnings.has(beginning)) this.#beginnings.set(beginning, owner)
  }

  /** The owner of a prefix that a name could begin with as well as with this one. */
  clashing(prefix: string): Owner | undefined {
    const start = prefix + SEPARATOR
    return this.#beginnings.get(start) ?? this.ownerOf(start)
  }

  /** The owner of the prefix that a name begins with. */
  ownerOf(name: string): Owner | undefined {
    for (const beginning of beginningsOf(name)) {
      const owner = this.#owners.get(beginning)
      if (owner !== undefined) return owner
    }
    return undefined
  }
}

/** `a_` and `a_b_` of `a_b_c`. */
function* beginningsOf(name: string): Generator<string> {
  for (let at = name.indexOf(SEPARATOR); at >= 0; at = name.indexOf(SEPARATOR, at + 1)) yield name.slice(0, at + 1)
}
