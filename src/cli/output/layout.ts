import { plainText } from '../../client/index.ts'

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

/** A line as lines of at most `width` characters, broken between words. A longer word stays whole. */
export function wrapped(text: string, width: number): readonly string[] {
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

/** The columns of a terminal. Some say that they have none, or nothing at all. */
export function screenWidth({ columns }: { readonly columns?: number }): number {
  return columns === undefined || columns === 0 ? 80 : columns
}

/** What a server wrote, in a line of ours. Its further lines are set in, so that none of them looks like one of ours. */
export function serverWords(text: string): string {
  return plainText(text).replaceAll('\n', '\n  ')
}
