/** The results of a run as a part of `docs/probe-accuracy.md`. */
import type { JudgedServer } from './judge.ts'
import type { Limits } from './limits.ts'
import { limitRows } from './limits.ts'
import { accuracyRows, matrixRows } from './tables.ts'

const BEGIN = '<!-- corpus: begin -->'
const END = '<!-- corpus: end -->'

/** The page with its results replaced. */
export function withResults(page: string, results: string): string {
  const from = page.indexOf(BEGIN)
  const to = page.indexOf(END)
  if (from < 0 || to < from) throw new Error(`The page has no place for results between ${BEGIN} and ${END}.`)
  return `${page.slice(0, from + BEGIN.length)}\n\n${results}\n\n${page.slice(to)}`
}

export function resultsPage(all: readonly JudgedServer[], limits: Limits): string {
  return [
    '### Accuracy',
    table(accuracyRows(all)),
    '### Confusion matrix',
    table(matrixRows(all)),
    '### Requests and times',
    table(limitRows(limits)),
    '### The servers',
    'What is wrong or UNKNOWN is in bold. Times are those of the combination.',
    table(configurationRows(all)),
  ].join('\n\n')
}

function configurationRows(all: readonly JudgedServer[]): readonly (readonly string[])[] {
  const heading = ['server', 'it is', 'because', 'method 1', 'method 2', 'method 3', 'combined', 'decided by', 'time']
  const rows = all.map(({ configuration: { name, version, truth, because }, judgements }) => {
    const { sequential, capabilities, metadata, combined } = judgements
    const four = [sequential, capabilities, metadata, combined]
    const marked = four.map(({ state }) => (state === truth ? state : `**${state}**`))
    return [`${name} (${version})`, truth, because, ...marked, combined.by, `${combined.ms} ms`]
  })
  return [heading, ...rows]
}

function table([heading = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`
  return [line(heading), `|${'---|'.repeat(heading.length)}`, ...rows.map(line)].join('\n')
}

function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|')
}
