/** Another version of the repository, beside which this one runs during a rolling update. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/repository.ts'

/** Makes a copy of the repository at a commit, with its own dependencies, once; gives its folder. */
export function folderOfVersion(commit: string): string {
  const run = (program: string, args: readonly string[], cwd: string): Buffer =>
    execFileSync(program, args, { cwd, maxBuffer: 256 * 1024 * 1024, stdio: ['ignore', 'pipe', 'inherit'] })
  const id = run('git', ['rev-parse', '--verify', `${commit}^{commit}`], root)
    .toString()
    .trim()
  const folder = join(tmpdir(), 'pannier-versions', id)
  const isComplete = join(folder, 'node_modules/.installed')
  if (existsSync(isComplete)) return folder
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  run('git', ['archive', '--output', join(folder, 'version.tar'), id], root)
  run('tar', ['--extract', '--file', 'version.tar'], folder)
  run('npm', ['install', '--no-audit', '--no-fund'], folder)
  writeFileSync(isComplete, '')
  return folder
}
