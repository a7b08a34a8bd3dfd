/** The last lines that a program wrote to standard error, as they can be logged. */
const MAX_LINES = 10
const MAX_CHARACTERS = 2000
/** Colours and movements of a terminal, and all other control characters. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0a-\x1f\x7f-\x9f]/g

export class PrintedTail {
  readonly #lines: string[] = []
  #characters = 0

  get lines(): readonly string[] {
    return this.#lines
  }

  add(line: string): void {
    const text = line.replace(CONTROLS, '').trimEnd().slice(0, MAX_CHARACTERS)
    if (text === '') return
    this.#lines.push(text)
    this.#characters += text.length
    while (this.#lines.length > MAX_LINES || this.#characters > MAX_CHARACTERS)
      this.#characters -= this.#lines.shift()?.length ?? 0
  }
}
