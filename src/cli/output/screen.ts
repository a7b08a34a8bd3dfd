/**
 * All text of the program passes here on its way to standard output and standard error. Servers write most of it, so every text is made plain: it cannot move the cursor, change the screen, or hide. The progress bar and the forms draw themselves and make their texts plain.
 */
import { format } from 'node:util'
import { plainText } from '../../client/index.ts'

/** Writes a result to standard output. */
export function writeResult(text: string): void {
  process.stdout.write(plainBlock(text))
}

/** Writes a note for people to standard error. */
export function writeNote(text: string): void {
  process.stderr.write(plainBlock(text))
}

/** Whole lines: a result that ends with a line break gets no second one. */
function plainBlock(text: string): string {
  const plain = plainText(text)
  return plain.endsWith('\n') ? plain : `${plain}\n`
}

/** What libraries write with `console` may quote a server, and standard output is for results. */
export function redirectConsole(): void {
  const note = (...parts: unknown[]): void => writeNote(format(...parts))
  Object.assign(console, { log: note, info: note, warn: note, error: note, trace: note, debug: () => undefined })
}
