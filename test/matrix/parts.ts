/** Parts of a whole run: each is stored, and when all are there they are added up. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/repository.ts'
import type { Slice } from './plan.ts'
import { addTally, emptyTally, type Tally } from './tally.ts'

const folder = join(root, 'node_modules/.cache/pannier-matrix')

/** Stores a part. Gives the sum of all parts; undefined while one of this commit is missing. */
export function joinParts(tally: Tally, { part, of }: Slice): Tally | undefined {
  if (of === 1) return tally
  mkdirSync(folder, { recursive: true })
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  const pathOf = (each: number): string => join(folder, `${commit}-${each}-of-${of}.json`)
  writeFileSync(pathOf(part), JSON.stringify(tally))
  const paths = Array.from({ length: of }, (_, index) => pathOf(index + 1))
  if (!paths.every((path) => existsSync(path))) return undefined
  const sum = emptyTally()
  for (const path of paths) addTally(sum, JSON.parse(readFileSync(path, 'utf8')) as Tally)
  return sum
}
