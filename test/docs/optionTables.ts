/** Tables of options in guides, held against the interfaces they describe. */

/** The members of an interface that is exported from this source. */
export function membersOf(source: string, type: string): string[] {
  const [, body = ''] = source.split(new RegExp(`^export interface ${type} .*\\{$`, 'm'))
  return [...(body.split(/^\}/m)[0] ?? '').matchAll(/^ {2}(\w+)\??:/gm)].map(([, member = '']) => member)
}

/** The options that the table under a heading of the third level names. */
export function rowsUnder(page: string, heading: string): string[] {
  const [, section = ''] = page.split(`### ${heading}\n`)
  const rows = (section.split(/^#/m)[0] ?? '').split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, option = '']) => option))
}
