import { folderOf } from './choose.ts'
import type { Change } from './operators.ts'

/** What became of one change. */
export interface Result {
  change: Change
  outcome: 'noticed' | 'survived' | 'equivalent' | 'does not compile'
  /** The test that noticed it. */
  by?: string
  /** How many test files ran, or could have. */
  tests?: number
  leftOut?: number
}

/** One change as a block of text: where, what, before and after. */
export function describe({ change, outcome, by, tests = 0, leftOut = 0 }: Result): string {
  const where = `${change.path}:${change.line}`
  if (outcome !== 'survived') return `${outcome.padEnd(10)} ${where}  ${change.operator}${by ? `  (${by})` : ''}`
  const ran = tests === 0 ? 'no test reaches it' : `${tests} test files ran${leftOut > 0 ? `, ${leftOut} did not` : ''}`
  return [`SURVIVED   ${where}  ${change.operator}; ${ran}`, shown('-', change.before), shown('+', change.after)].join(
    '\n',
  )
}

function shown(sign: string, text: string): string {
  return (text === '' ? '(nothing)' : text).replace(/^/gm, `    ${sign} `)
}

/** How many of the changes were noticed, by folder. Equivalents, and what does not compile, do not count. */
export function summary(results: readonly Result[]): string {
  const folders = [...new Set(results.map(({ change }) => folderOf(change.path)))].toSorted()
  const rows = [...folders, 'all'].map((folder) => {
    const own = results.filter(({ change }) => folder === 'all' || folderOf(change.path) === folder)
    const count = (outcome: Result['outcome']): number => own.filter((result) => result.outcome === outcome).length
    const noticed = count('noticed')
    const counted = noticed + count('survived')
    const share = counted === 0 ? '' : `${((100 * noticed) / counted).toFixed(0)} %`
    const rest = `${count('equivalent')} equivalent, ${count('does not compile')} do not compile`
    return `${folder.padEnd(14)} ${String(noticed).padStart(4)} of ${String(counted).padStart(4)} noticed  ${share.padStart(5)}   ${rest}`
  })
  return rows.join('\n')
}
