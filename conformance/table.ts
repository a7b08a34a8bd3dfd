/** Results as text: a line for each scenario, and below it every check that failed or warned. */
import type { Result } from './judge.ts'
import type { Check } from './suite.ts'

const WIDTHS = [46, 10, 6, 6, 6]

export function heading(title: string): string {
  return `\n${title}\n${columns(['scenario', 'revision', 'passed', 'failed', 'warned', 'verdict'])}`
}

export function line(revision: string, { scenario, checks, verdict }: Result): string {
  const count = (status: Check['status']): string => String(checks.filter((check) => check.status === status).length)
  const counts = [count('SUCCESS'), count('FAILURE'), count('WARNING')]
  return [columns([scenario, revision, ...counts, verdict]), ...checks.filter(isNotable).map(note)].join('\n')
}

function isNotable({ status }: Check): boolean {
  return status === 'FAILURE' || status === 'WARNING'
}

function note({ id, status, description, errorMessage }: Check): string {
  return `    ${status} ${id}: ${errorMessage ?? description}`
}

function columns(cells: readonly string[]): string {
  return `  ${cells.map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0)).join('  ')}`
}
