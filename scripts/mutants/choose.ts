import { posix } from 'node:path'
import { isTest } from '../repository.ts'
import { type Block, blockAt } from './blocks.ts'
import type { Change } from './operators.ts'
import type { Reach, TestReach } from './reached.ts'

const FAR = 1_000_000

/** Random numbers from 0 to 1 that are the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `src/state/seal/seal.ts` lies in `src/state`. */
export function folderOf(path: string): string {
  return path.split('/').slice(0, 2).join('/')
}

/**
 * An endless sample of changes in random order: each folder in turn, so that small folders are looked at as closely as
 * large ones, and there each operator as often as the others.
 */
export function* sample(changes: readonly Change[], seed: number): Generator<Change> {
  const random = randomNumbers(seed)
  const folders = new Map<string, Map<string, Change[]>>()
  for (const change of changes) {
    const folder = folders.get(folderOf(change.path)) ?? new Map<string, Change[]>()
    folders.set(folderOf(change.path), folder)
    folder.set(change.operator, [...(folder.get(change.operator) ?? []), change])
  }
  while (folders.size > 0) {
    for (const [name, operators] of folders) {
      const chosen = [...operators.keys()][Math.floor(random() * operators.size)] ?? ''
      const left = operators.get(chosen) ?? []
      const [change] = left.splice(Math.floor(random() * left.length), 1)
      if (left.length === 0) operators.delete(chosen)
      if (operators.size === 0) folders.delete(name)
      if (change !== undefined) yield change
    }
  }
}

/** The test files that can notice a change, the most promising first. */
export function testsFor(change: Change, source: { hash: string; blocks: readonly Block[] }, reach: Reach): string[] {
  const at = change.operator === 'early return' ? change.end : change.start
  const block = blockAt(source.blocks, at)?.start
  const reaching = Object.entries(reach).filter(([, test]) => reaches(test, change.path, source.hash, block))
  const rank = ([path, { ms }]: [string, TestReach]): number =>
    ms + (isBeside(path, change.path) ? -FAR : isUnitTest(path) ? 0 : FAR)
  return reaching.toSorted((a, b) => rank(a) - rank(b)).map(([path]) => path)
}

/** What runs when a file is loaded, and a file that has changed since, counts as reached by all that reached the file. */
function reaches(test: TestReach, path: string, hash: string, block: number | undefined): boolean {
  const file = test.files[path]
  if (file === undefined) return false
  return block === undefined || file.hash !== hash || file.blocks.includes(block)
}

/** `seal.test.ts` and `seal.vectors.test.ts` lie beside `seal.ts`. */
function isBeside(test: string, source: string): boolean {
  return isTest(test) && test.startsWith(`${posix.join(posix.dirname(source), posix.basename(source, '.ts'))}.`)
}

/** The tests in src start hardly any programs, so that these need not be bundled for them. */
export function isUnitTest(path: string): boolean {
  return path.startsWith('src/')
}

/** Test files in the order given, in a few runs: first three, then ever more, and none after `seconds` of tests. */
export function batches(
  tests: readonly string[],
  reach: Reach,
  seconds: number,
): { runs: string[][]; leftOut: number } {
  const runs: string[][] = []
  let size = 3
  let ms = 0
  for (const [n, path] of tests.entries()) {
    ms += reach[path]?.ms ?? 0
    if (n > 0 && ms > seconds * 1000) return { runs, leftOut: tests.length - n }
    const run = runs.at(-1)
    const [first] = run ?? []
    if (run !== undefined && run.length < size && isUnitTest(first ?? '') === isUnitTest(path)) run.push(path)
    else {
      if (run?.length === size) size *= 4
      runs.push([path])
    }
  }
  return { runs, leftOut: 0 }
}
