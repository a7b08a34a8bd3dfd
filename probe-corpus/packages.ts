/** Npm packages of others, installed into folders of their own. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Where the packages of the corpus are. */
const CORPUS = join(import.meta.dirname, 'packages')

interface PackageList {
  readonly dependencies: Readonly<Record<string, string>>
}

interface Manifest {
  readonly version: string
  readonly bin?: string | Readonly<Record<string, string>>
}

/** Installs packages of a folder's manifest that are missing or have another version, without their install scripts. */
export function installPackages(folder = CORPUS): void {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageList
  const missing = Object.entries(dependencies).filter(([name, version]) => versionOf(name, folder) !== version)
  if (missing.length === 0) return
  console.error(`Installing ${missing.length} packages into ${relative(process.cwd(), folder)}/node_modules …`)
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

export function packageFile(name: string, file: string, folder = CORPUS): string {
  return join(folder, 'node_modules', name, file)
}

/** The file that a package is started by. */
export function packageProgram(name: string, folder = CORPUS): string {
  const { bin = '' } = read(name, folder) ?? {}
  const [file = ''] = typeof bin === 'string' ? [bin] : Object.values(bin)
  return packageFile(name, file, folder)
}

export function versionOf(name: string, folder = CORPUS): string {
  return read(name, folder)?.version ?? 'not installed'
}

/** The version of a package that the project itself has. */
export function ownVersionOf(name: string): string {
  return read(name, join(import.meta.dirname, '..'))?.version ?? 'not installed'
}

function read(name: string, folder: string): Manifest | undefined {
  const path = join(folder, 'node_modules', name, 'package.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Manifest) : undefined
}
