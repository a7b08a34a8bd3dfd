/** Pieces of Markdown that GitHub and the site show alike. */

/** The anchor that GitHub gives to a heading, and so the site. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

export function code(text: string): string {
  const marks = text.includes('`') ? '``' : '`'
  return text === '' ? '' : `${marks}${text}${marks}`
}

/** A paragraph; what could be taken for HTML is shown as it is. */
export function prose(text: string): string {
  return text.replace(/`[^`]*`|</g, (part) => (part === '<' ? '&lt;' : part))
}

/** A table without columns that are empty in every row. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const kept = columns.map((_, at) => rows.some((row) => row[at] !== ''))
  const line = (cells: readonly string[]): string => {
    const shown = cells.filter((_, at) => kept[at]).map((cell) => cell.replace(/\s+/g, ' ').replaceAll('|', '\\|'))
    return `| ${shown.join(' | ')} |`
  }
  return [line(columns), line(columns.map(() => '---')).replaceAll(' ', ''), ...rows.map(line)].join('\n')
}
