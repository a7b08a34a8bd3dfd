import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The repository's folder. Every path in these scripts is relative to it, with forward slashes. */
export const root = join(import.meta.dirname, '..')

/** Every file of the repository that git does not ignore, committed or not. */
export function listFiles(): string[] {
  const output = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  const paths = output.split('\0').filter((path) => path !== '' && existsSync(join(root, path)))
  return [...new Set(paths)].toSorted()
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** The file's text, or undefined when there is none. */
export function readIfThere(path: string): string | undefined {
  return existsSync(join(root, path)) ? readText(path) : undefined
}

/** The named files with their text. The checks work on such maps, so that their own tests can make one up. */
export type Texts = ReadonlyMap<string, string>

export function readTexts(paths: readonly string[]): Texts {
  return new Map(paths.map((path) => [path, readText(path)]))
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}

/** Whether `npm test` runs only a short form of a test file (test/amount.ts), or leaves it out. */
export function hasLongForm(path: string): boolean {
  return (
    path.endsWith('.long.test.ts') || (isTest(path) && /from '[^']*\/(?:amount|longTest)\.ts'/.test(readText(path)))
  )
}
