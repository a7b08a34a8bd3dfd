/** The results of a run as a part of `docs/reference/interop.md`. */
import { PLACES } from './driver.ts'
import type { JudgedLeg } from './judge.ts'
import { placeRows, reasonRows, type Rows, TITLES } from './tables.ts'

const BEGIN = '<!-- interop: begin -->'
const END = '<!-- interop: end -->'

/** The page with its results replaced. */
export function withResults(page: string, results: string): string {
  const from = page.indexOf(BEGIN)
  const to = page.indexOf(END)
  if (from < 0 || to < from) throw new Error(`The page has no place for results between ${BEGIN} and ${END}.`)
  return `${page.slice(0, from + BEGIN.length)}\n\n${results}\n\n${page.slice(to)}`
}

/** `versions`: client, package and version. */
export function resultsPage(legs: readonly JudgedLeg[], versions: Rows): string {
  return [
    ...PLACES.flatMap((place) => [`### ${TITLES[place]}`, table(placeRows(place, legs))]),
    '### Why not',
    table(reasonRows(legs)),
    '### Versions',
    table([['client', 'package', 'version'], ...versions]),
  ].join('\n\n')
}

function table([heading = [], ...rows]: Rows): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`
  return [line(heading), `|${'---|'.repeat(heading.length)}`, ...rows.map(line)].join('\n')
}

function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|')
}
