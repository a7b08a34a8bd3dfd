/** The output of a program for the log: some lines of it, with secrets masked. */
const MAX_LINES = 10
const MAX_CHARACTERS = 2000
/** Terminal escape sequences and all other control characters. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0a-\x1f\x7f-\x9f]/g

/** The first lines, which show that a program does something else than it should. */
export class PrintedHead {
  readonly #lines: string[] = []
  #left = MAX_CHARACTERS

  get lines(): readonly string[] {
    return this.#lines
  }

  add(line: string): void {
    if (this.#lines.length === MAX_LINES) return
    const text = plain(line).slice(0, this.#left)
    if (text === '') return
    this.#lines.push(text)
    this.#left -= text.length
  }
}

/** The last lines, which show why a program has exited. */
export class PrintedTail {
  readonly #lines: string[] = []
  #characters = 0

  get lines(): readonly string[] {
    return this.#lines
  }

  add(line: string): void {
    const text = plain(line).slice(0, MAX_CHARACTERS)
    if (text === '') return
    this.#lines.push(text)
    this.#characters += text.length
    while (this.#lines.length > MAX_LINES || this.#characters > MAX_CHARACTERS)
      this.#characters -= this.#lines.shift()?.length ?? 0
  }
}

function plain(line: string): string {
  return line.replace(CONTROLS, '').trimEnd()
}

/** Shorter values are common words and numbers, and no secrets. */
const MIN_SECRET_CHARACTERS = 6

/** Masks values that may be secret in a line. Multi-line values, such as keys, are masked line by line. */
export function maskOf(values: readonly string[]): (line: string) => string {
  const parts = values.flatMap((value) => value.split(/\r?\n/)).map((part) => part.trim())
  const secrets = [...new Set(parts)].filter(({ length }) => length >= MIN_SECRET_CHARACTERS)
  const longestFirst = secrets.toSorted((a, b) => b.length - a.length)
  return (line) => longestFirst.reduce((text, secret) => text.replaceAll(secret, '***'), line)
}
