/** Pinned npm packages of others, such as the clients, each installed into a folder of its own. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

interface Manifest {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const FLAGS = ['--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']

export function clientFolder(client: string): string {
  return join(import.meta.dirname, 'clients', client)
}

/** Installs what is missing or has another version in a folder with a package.json, without install scripts. */
export function installPackages(folder: string): void {
  const pinned = Object.entries(manifestIn(folder)?.dependencies ?? {})
  if (pinned.every(([name, version]) => versionOf(folder, name) === version)) return
  const title = relative(process.cwd(), folder)
  console.error(`Installing the packages of ${title} …`)
  const { status } = spawnSync('npm', ['install', '--prefix', folder, ...FLAGS], {
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error(`The packages of ${title} could not be installed.`)
}

/** The version that is installed in a folder. */
export function versionOf(folder: string, name: string): string | undefined {
  return manifestIn(join(folder, 'node_modules', name))?.version
}

function manifestIn(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Manifest) : undefined
}

/** Client, package and version of each package in the client's folder, and of the SDK that came with them. */
export function packageRows(client: string): readonly (readonly string[])[] {
  const pinned = Object.keys(manifestIn(clientFolder(client))?.dependencies ?? {})
  const names = new Set([...pinned, '@modelcontextprotocol/sdk', '@modelcontextprotocol/client'])
  return [...names].flatMap((name) => {
    const version = versionOf(clientFolder(client), name)
    return version === undefined ? [] : [[client, name, version]]
  })
}
