/** Parts of a whole run: each is stored, and when all are there they are added up. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/repository.ts'
import type { Slice } from './plan.ts'
import { addTally, emptyTally, type Tally } from './tally.ts'

const folder = join(root, 'node_modules/.cache/pannier-matrix')

/** Stores what a part found, as of this commit. */
export function storePart(name: string, found: object): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(pathOf(name), JSON.stringify(found))
}

/** What a part found; undefined where it was not run at this commit. */
export function stored<T>(name: string): T | undefined {
  return existsSync(pathOf(name)) ? (JSON.parse(readFileSync(pathOf(name), 'utf8')) as T) : undefined
}

function pathOf(name: string): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  return join(folder, `${commit}-${name}.json`)
}

/** Stores a part. Gives the sum of all parts; undefined while one of this commit is missing. */
export function joinParts(tally: Tally, { part, of }: Slice): Tally | undefined {
  if (of === 1) return tally
  storePart(`${part}-of-${of}`, tally)
  const parts = Array.from({ length: of }, (_, index) => stored<Tally>(`${index + 1}-of-${of}`))
  if (parts.includes(undefined)) return undefined
  const sum = emptyTally()
  for (const each of parts) if (each !== undefined) addTally(sum, each)
  return sum
}
