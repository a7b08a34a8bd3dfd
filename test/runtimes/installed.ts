/** Runtimes and frameworks that are too large to be dependencies, in a folder of their own. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../scripts/repository.ts'

const run = promisify(execFile)

/** The folder. Git does not have it, and `npm install` leaves it alone. */
const folder = join(root, 'node_modules/.cache/runtimes')

const { platform, arch } = process

export const PACKAGES = {
  node22: `npm:node-${platform === 'win32' ? 'win' : platform}-${arch}@22`,
  'workerd-before': 'npm:workerd@1.20260423.1',
  deno: '2',
  next: '16',
  react: '19',
  'react-dom': '19',
} as const

/** Installs what is missing; about 750 MB. */
export async function install(): Promise<void> {
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: PACKAGES })
  const file = join(folder, 'package.json')
  if (existsSync(file) && readFileSync(file, 'utf8') === manifest) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, manifest)
  await run('npm', ['install', '--no-audit', '--no-fund'], { cwd: folder })
}

export const inFolder = (path: string): string => join(folder, path)

/** The version of an installed package. */
export function versionOf(name: keyof typeof PACKAGES): string {
  const { version } = JSON.parse(readFileSync(inFolder(`node_modules/${name}/package.json`), 'utf8')) as {
    version: string
  }
  return version
}
