/** The comparison as a part of `docs/reference/performance.md`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { Plan } from '../../plan.ts'
import { whole } from '../report.ts'
import type { MeasuredFramework } from './frameworks.ts'

const BEGIN = '<!-- frameworks: begin -->'
const END = '<!-- frameworks: end -->'
const PAGE = join(import.meta.dirname, '../../../docs/reference/performance.md')

export function writePage(measured: readonly MeasuredFramework[], plan: Plan['frameworks']): void {
  const page = readFileSync(PAGE, 'utf8')
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`The page has no place between ${BEGIN} and ${END}.`)
  writeFileSync(PAGE, `${page.slice(0, from + BEGIN.length)}\n\n${partOf(measured, plan)}\n\n${page.slice(to)}`)
}

function partOf(
  measured: readonly MeasuredFramework[],
  { rounds, warmUpMs, ms, launches }: Plan['frameworks'],
): string {
  const heading = ['framework', 'version', 'revision', 'operations/s', 'per CPU second', 'cold launch']
  const rows = measured.toSorted((a, b) => b.perCpuSecond - a.perCpuSecond).map(cells)
  const day = new Date().toISOString().slice(0, 10)
  const about = `Measured on ${day} with Node ${process.version} on a machine of ${cpus().length} cores: ${rounds} rounds of ${ms / 1000} seconds after a warm-up of ${warmUpMs / 1000} seconds of CPU time, and ${launches} launches of each.`
  return [about, [heading, heading.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')].join(
    '\n\n',
  )
}

function cells({ name, version, dialect, rate, perCpuSecond, launch }: MeasuredFramework): readonly string[] {
  const revision = dialect === 'stateless' ? '2026-07-28' : '2025-11-25, in sessions'
  return [name, version, revision, whole(rate), whole(perCpuSecond), `${launch.median.toFixed(0)} ms`]
}
