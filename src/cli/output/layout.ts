import { wrapped } from './wrapped.ts'

// Narrower than this nothing can be read, so it may stand out.
const NARROWEST = 20

/** Rows as lines of text, their cells one below the other. What `width` is too narrow for goes on in its last column. */
export function columns(rows: readonly (readonly string[])[], gap = '  ', width = Infinity): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, lengthOf(row[column])), 0),
  )
  const before = widths.slice(0, -1).reduce((sum, of) => sum + of + gap.length, 0)
  const room = Math.max(NARROWEST, width - before)
  return rows
    .flatMap((row) => {
      const cells = row.slice(0, -1).map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - lengthOf(cell)))
      const [first = '', ...rest] = wrapped(row.at(-1) ?? '', room)
      return [[...cells, first].join(gap), ...rest.map((line) => ' '.repeat(before) + line)]
    })
    .map((line) => line.trimEnd())
    .join('\n')
}

function lengthOf(text = ''): number {
  return Array.from(text).length
}
