/** Names of tools and of their arguments: models' interfaces allow 64 letters, digits, `_` and `-`. */
const MAX_NAME_CHARACTERS = 64
/** The rest of a name in a document is not read. */
const MAX_READ_CHARACTERS = 1000

export function toolName(text: string): string {
  return fitting(text, 'operation')
}

/** `filter[color]` becomes `filter_color`. */
export function argumentName(text: string): string {
  return fitting(text, 'argument')
}

function fitting(text: string, otherwise: string): string {
  const name = text
    .slice(0, MAX_READ_CHARACTERS)
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^_+|_+$/g, '')
  return name.slice(0, MAX_NAME_CHARACTERS) || otherwise
}

/** Names of which no two are equal: the second `x` becomes `x_2`. */
export class NameSet {
  readonly #taken = new Map<string, number>()

  add(name: string): string {
    const count = this.#taken.get(name) ?? 0
    this.#taken.set(name, count + 1)
    if (count === 0) return name
    const end = `_${count + 1}`
    return this.add(name.slice(0, MAX_NAME_CHARACTERS - end.length) + end)
  }
}
