/** A package from npm in a folder of its own, apart from the project's packages, and how it is started. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Launch } from '../configuration.ts'
import type { Recording } from '../recordings.ts'

/** Which package, and how its program is started where that is not the default. */
export type RecordedLaunch = Pick<Recording, 'name'> & Partial<Pick<Recording, 'version' | 'program' | 'args' | 'env'>>

interface Manifest {
  readonly version: string
  readonly bin?: string | Readonly<Record<string, string>>
  readonly main?: string
}

const FLAGS = ['--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']

/** Installs it without its install scripts, unless it is there; returns its folder and manifest. */
export function installed({ name, version }: RecordedLaunch): { readonly folder: string; readonly manifest: Manifest } {
  const root = join(tmpdir(), 'pannier-recorded', name.replace('/', '+'))
  const folder = join(root, 'node_modules', name)
  const isThere = (): boolean => [undefined, readManifest(folder)?.version].includes(version)
  if (readManifest(folder) === undefined || !isThere()) {
    mkdirSync(root, { recursive: true })
    writeFileSync(join(root, 'package.json'), '{ "private": true }')
    const env = { ...process.env, PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1', PUPPETEER_SKIP_DOWNLOAD: '1' }
    const given = ['install', ...FLAGS, `${name}@${version ?? 'latest'}`]
    spawnSync('npm', given, { cwd: root, env, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  }
  const manifest = readManifest(folder)
  if (manifest === undefined) throw new Error(`${name} could not be installed.`)
  return { folder, manifest }
}

function readManifest(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Manifest) : undefined
}

/** The file that a package is started by: of several, one whose name has "mcp" or "server" in it. */
export function programOf({ bin, main = 'index.js' }: Manifest): string {
  if (typeof bin === 'string') return bin
  const files = Object.entries(bin ?? {})
  const [, file = main] = files.find(([name]) => /mcp|server/i.test(name)) ?? files[0] ?? []
  return file
}

/** The launch on stdio. Variables that are only named get invented values. */
export function launchOf(folder: string, program: string, { args = [], env = [] }: RecordedLaunch): Launch {
  return { args: [join(folder, program), ...args], env: Object.fromEntries(env.map(variable)) }
}

/** `NAME=value`, or a name alone, to which an address, a port or a word is invented. */
function variable(text: string): readonly [string, string] {
  const [, name = text, value = inventedFor(text)] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  return [name, value]
}

function inventedFor(name: string): string {
  if (name.endsWith('PORT')) return '9'
  if (name.endsWith('HOST')) return '127.0.0.1'
  return /UR[LI]|ENDPOINT|HOST|INSTANCE/.test(name) ? 'http://127.0.0.1:9' : 'invented'
}
