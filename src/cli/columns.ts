/** Rows as lines of text, their cells one below the other. */
export function columns(rows: readonly (readonly string[])[], gap = '  '): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, lengthOf(row[column])), 0),
  )
  return rows
    .map((row) => row.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - lengthOf(cell))).join(gap))
    .map((line) => line.trimEnd())
    .join('\n')
}

function lengthOf(text = ''): number {
  return Array.from(text).length
}
