/** The results of a run as a part of `docs/reference/probe-accuracy.md`. */
import type { JudgedServer } from './judge.ts'
import type { Limits } from './limits.ts'
import { limitRows } from './limits.ts'
import { accuracyRows, decisionRows, matrixRows } from './tables.ts'

/** The page with its results replaced: those of the servers that were started, or of those that were recorded. */
export function withResults(
  page: string,
  results: string,
  part: 'corpus' | 'recordings' | 'servers' = 'corpus',
): string {
  const [begin, end] = [`<!-- ${part}: begin -->`, `<!-- ${part}: end -->`]
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  if (from < 0 || to < from) throw new Error(`The page has no place for results between ${begin} and ${end}.`)
  return `${page.slice(0, from + begin.length)}\n\n${results}\n\n${page.slice(to)}`
}

export function resultsPage(all: readonly JudgedServer[], limits: Limits): string {
  return [
    '### Accuracy',
    table(accuracyRows(all)),
    '### Confusion matrix',
    table(matrixRows(all)),
    '### By kind of decision',
    'The verdict without known names, from findings alone.',
    table(decisionRows(all)),
    '### Requests and times',
    table(limitRows(limits)),
    '### The servers',
    'Wrong and UNKNOWN judgements are in bold. Times are of the combination.',
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

export function table([heading = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`
  return [line(heading), `|${'---|'.repeat(heading.length)}`, ...rows.map(line)].join('\n')
}

function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|')
}
