/** The layout of text on a terminal: columns, wrapping, widths and ages. */
import { plainText } from '../../client/index.ts'
import { DAY_MS } from '../../protocol/index.ts'

const GAP = '  '
// A narrower last column cannot be read, so it may exceed the width.
const MIN_COLUMN_WIDTH = 18

/** Aligns rows as columns of text. The last column wraps where a line is longer than `width`. */
export function alignColumns(rows: readonly (readonly string[])[], width = Infinity): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, lengthOf(row[column])), 0),
  )
  const before = widths.slice(0, -1).reduce((sum, of) => sum + of + GAP.length, 0)
  const room = Math.max(MIN_COLUMN_WIDTH, width - before)
  return rows
    .flatMap((row) => {
      const cells = row.slice(0, -1).map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - lengthOf(cell)))
      const [first = '', ...rest] = wrapText(row.at(-1) ?? '', room)
      return [[...cells, first].join(GAP), ...rest.map((line) => ' '.repeat(before) + line)]
    })
    .map((line) => line.trimEnd())
    .join('\n')
}

function lengthOf(text = ''): number {
  return Array.from(text).length
}

/** Breaks a line between words into lines of at most `width` characters. A longer word stays whole. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let current = ''
  for (const word of text.split(' ')) {
    const joined = current === '' ? word : `${current} ${word}`
    if (current !== '' && Array.from(joined).length > width) {
      lines.push(current)
      current = word
    } else current = joined
  }
  return [...lines, current]
}

/** The width of a terminal; 80 where it reports none or 0. */
export function screenWidth({ columns }: { readonly columns?: number }): number {
  return columns === undefined || columns === 0 ? 80 : columns
}

/** How long lines may be: they are wrapped on a terminal only. */
export function lineWidth(stream: NodeJS.WriteStream = process.stdout): number {
  return stream.isTTY ? screenWidth(stream) : Infinity
}

/**
 * Text of a server in a line of ours. Continuation lines are indented, so that they do not look like output of this
 * program.
 */
export function serverText(text: string): string {
  return plainText(text).replaceAll('\n', '\n  ')
}

const UNITS = [
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['min', 60_000],
] as const

/** A length of time in its largest whole unit. */
export function age(ms: number): string {
  const [unit, length] = UNITS.find((candidate) => ms >= candidate[1]) ?? ['s', 1000]
  return `${Math.max(0, Math.floor(ms / length))} ${unit}`
}
