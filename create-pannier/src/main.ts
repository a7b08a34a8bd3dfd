#!/usr/bin/env node
/** `npm create pannier`: makes a project from a template, and installs its dependencies. */
import { spawnSync } from 'node:child_process'
import { relative } from 'node:path'
import { parseOptions, USAGE } from './options.ts'
import { createProject, ownVersion, type Project, projectAt } from './project.ts'
import { askMissing, Cancelled } from './questions.ts'
import { TEMPLATES } from './templates.ts'

async function main(args: readonly string[]): Promise<void> {
  assertNode(process.versions.node)
  const options = parseOptions(args)
  if (options.help) return console.log(USAGE)
  if (options.version) return console.log(ownVersion)
  const { folder, template } = await askMissing(options)
  const project = projectAt(folder, template)
  createProject(project)
  const isInstalled = options.install && install(project)
  console.log(lastLines(project, isInstalled))
}

function assertNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < 22 || (major === 22 && minor < 18)) {
    throw new Error(`Pannier needs Node 22.18 or newer; this is ${version}.`)
  }
}

/** Whether npm could install the dependencies. Its own output says why not. */
function install({ folder }: Project): boolean {
  console.log('Installing the dependencies with npm …')
  const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32', // there npm is a script of the shell
  })
  if (status !== 0) process.exitCode = 1
  return status === 0
}

function lastLines({ folder, template }: Project, isInstalled: boolean): string {
  const path = relative('.', folder) || '.'
  const commands = [
    ...(path === '.' ? [] : [`cd ${path.includes(' ') ? `"${path}"` : path}`]),
    ...(isInstalled ? [] : ['npm install']),
    ...TEMPLATES[template].next,
  ]
  return ['', `The project is in ${path}. Next:`, '', ...commands.map((command) => `  ${command}`), '', ENTRY].join(
    '\n',
  )
}

const ENTRY = 'README.md has the entry for Claude, Cursor, VS Code and other clients.'

try {
  await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof Cancelled)) console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
