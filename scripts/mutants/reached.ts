/**
 * Which test file reaches which part of the sources. It is measured once, in a copy of the repository whose blocks tell
 * when they are reached, in the processes that tests start, too. Kept in node_modules/.cache; only test files that are
 * new or have changed are measured again.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { hasLongForm, isTest, listFiles, readText, root } from '../repository.ts'
import { withProbes } from './blocks.ts'
import { Copy } from './copy.ts'
import type { TestRun } from './testProcess.ts'

/** What one test file reached, when it was measured. */
export interface TestReach {
  hash: string
  ms: number
  /** Whether it passed when it was measured. One that did not must be seen to pass without a change. */
  passed: boolean
  files: Record<string, { hash: string; blocks: number[] }>
}

/** By the path of the test file. */
export type Reach = Record<string, TestReach>

const cache = join(root, 'node_modules/.cache/pannier-mutants/reached.json')
const LIMIT_MS = 20 * 60_000
const SLICE = 12

const LEFT_OUT = /^test\/(cli|docs|probe|repo|runtimes|survival)\/|\/survival\//

/** In the setup of each test file: whose reach is written down from here on. */
const SETUP = `globalThis.__reachedBy = process.env.REACHED_BY = globalThis.__vitest_worker__.filepath;\n`

/** At the head of each source file, on its first line. A process that is killed has written what it reached. */
const PROBE = `const __reached = (globalThis.__reached ??= (() => {
  const { appendFileSync } = process.getBuiltinModule('node:fs');
  const seen = new Map();
  return (path, start) => {
    const by = globalThis.__reachedBy ?? process.env.REACHED_BY;
    if (by === undefined) return;
    const key = path + ':' + start;
    if (!seen.has(by)) seen.set(by, new Set());
    if (seen.get(by).has(key)) return;
    seen.get(by).add(key);
    appendFileSync(FILE, by + '\\t' + path + '\\t' + start + '\\n');
  };
})());`

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** What is measured already. */
export function knownReach(): Reach {
  return existsSync(cache) ? (JSON.parse(readFileSync(cache, 'utf8')) as Reach) : {}
}

/** The reach of every test file, measured now where it is not known. */
export async function readReach(log: (line: string) => void): Promise<Reach> {
  const known = knownReach()
  const tests = listFiles().filter(isUsed)
  const reach: Reach = Object.fromEntries(tests.flatMap((path) => (known[path] ? [[path, known[path]]] : [])))
  const stale = tests.filter((path) => known[path]?.hash !== hashOf(readText(path)))
  if (stale.length === 0) return reach
  log(`Measuring what ${stale.length} test files reach.`)
  mkdirSync(dirname(cache), { recursive: true })
  const copy = new Copy()
  const file = join(copy.folder, 'reached.txt')
  const hashes = putProbes(copy, file)
  // In slices, so that what is measured stays when this is stopped.
  for (let from = 0; from < stale.length; from += SLICE) {
    writeFileSync(file, '')
    const slice = stale.slice(from, from + SLICE)
    const { files } = await copy.test(slice, { limitMs: LIMIT_MS, bail: false })
    Object.assign(reach, readSlice(slice, readFileSync(file, 'utf8'), files, { hashes, folder: copy.folder }))
    writeFileSync(cache, JSON.stringify(reach))
  }
  copy.remove()
  return reach
}

/** Not tests of the repository, the program, the probe and the guides, nor of runtimes without files, nor those by mass. */
function isUsed(path: string): boolean {
  return isTest(path) && !LEFT_OUT.test(path) && !hasLongForm(path)
}

interface Measured {
  /** Of the sources. */
  hashes: ReadonlyMap<string, string>
  folder: string
}

/** What each test file of a run reached: `lines` have the test file, the source file and the block. */
function readSlice(tests: readonly string[], lines: string, runs: TestRun['files'], from: Measured): Reach {
  const reach: Reach = {}
  for (const path of tests) {
    const { ms, passed } = runs[path] ?? { ms: 0, passed: false }
    reach[path] = { hash: hashOf(readText(path)), ms, passed, files: {} }
  }
  for (const line of lines.split('\n')) {
    const [by = '', path = '', start = ''] = line.split('\t')
    const test = reach[relative(from.folder, by)]
    if (test === undefined) continue
    test.files[path] ??= { hash: from.hashes.get(path) ?? '', blocks: [] }
    test.files[path].blocks.push(Number(start))
  }
  return reach
}

/** Puts probes into the sources of the copy, and gives the hashes of the sources as they were. */
function putProbes(copy: Copy, file: string): Map<string, string> {
  const hashes = new Map<string, string>()
  const probe = PROBE.replaceAll('\n', ' ').replace('FILE', JSON.stringify(file))
  for (const path of listFiles().filter((name) => /^src\/.*\.ts$/.test(name) && !isTest(name))) {
    const text = readText(path)
    hashes.set(path, hashOf(text))
    copy.write(path, `${probe} ${withProbes(path, text)}`)
  }
  copy.write('test/environment.ts', SETUP + readText('test/environment.ts'))
  return hashes
}
