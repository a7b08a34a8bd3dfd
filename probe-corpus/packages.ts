/** The npm packages of the corpus, installed into their own folder. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from './packages/package.json' with { type: 'json' }

const folder = join(import.meta.dirname, 'packages')

interface Manifest {
  readonly version: string
  readonly bin?: string | Readonly<Record<string, string>>
}

/** Installs packages that are missing or have another version, without their install scripts. */
export function installPackages(): void {
  const missing = Object.entries(manifest.dependencies).filter(([name, version]) => versionOf(name) !== version)
  if (missing.length === 0) return
  console.error(`Installing ${missing.length} packages into probe-corpus/packages/node_modules …`)
  const flags = [
    '--ignore-scripts',
    '--omit=optional',
    '--no-package-lock',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  const { status } = spawnSync('npm', ['install', '--prefix', folder, ...flags], {
    stdio: ['ignore', 2, 2],
    env: { ...process.env, PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1', PUPPETEER_SKIP_DOWNLOAD: '1' },
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error('The packages of the corpus could not be installed.')
}

export function packageFile(name: string, file: string): string {
  return join(folder, 'node_modules', name, file)
}

/** The file that a package is started by. */
export function packageProgram(name: string): string {
  const { bin = '' } = read(name) ?? {}
  const [file = ''] = typeof bin === 'string' ? [bin] : Object.values(bin)
  return packageFile(name, file)
}

export function versionOf(name: string): string {
  return read(name)?.version ?? 'not installed'
}

/** The version of a package that the project itself has. */
export function ownVersionOf(name: string): string {
  return read(name, join(import.meta.dirname, '../node_modules'))?.version ?? 'not installed'
}

function read(name: string, installed = join(folder, 'node_modules')): Manifest | undefined {
  const path = join(installed, name, 'package.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Manifest) : undefined
}
