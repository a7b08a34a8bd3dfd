/** Results as text: a line for each scenario, and below it every check that failed or warned. */
import type { Result } from './judge.ts'
import type { Check } from './suite.ts'

const WIDTHS = [12, 46, 10, 6, 6, 6]

export function heading(): string {
  return columns(['who', 'scenario', 'revision', 'passed', 'failed', 'warned', 'verdict'])
}

export function line({ who, revision, scenario, checks, verdict, output }: Result): string {
  const count = (status: Check['status']): string => String(checks.filter((check) => check.status === status).length)
  const counts = [count('SUCCESS'), count('FAILURE'), count('WARNING')]
  const more = output === undefined ? [] : [output.trimEnd().replace(/^/gm, '    | ')]
  return [columns([who, scenario, revision, ...counts, verdict]), ...checks.filter(isNotable).map(note), ...more].join(
    '\n',
  )
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
