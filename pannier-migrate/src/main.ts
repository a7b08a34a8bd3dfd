#!/usr/bin/env node
/** `npx pannier-migrate`: makes the mechanical changes, and lists the changes left by hand. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unifiedDiff } from './diff.ts'
import { type Migration, migrate } from './migrate.ts'
import { parseOptions, USAGE } from './options.ts'
import { Project } from './project.ts'
import { initText, leftText, summary } from './report.ts'

function main(args: readonly string[]): void {
  const options = parseOptions(args)
  if (options.help) return console.log(USAGE)
  if (options.version) return console.log(ownVersion())
  const project = new Project(options.folder)
  const migration = migrate(project)
  if (migration.sdks.size === 0)
    throw new Error(
      `No file in ${project.folder} imports @modelcontextprotocol/sdk, @modelcontextprotocol/server or fastmcp. Folders of built files, such as dist, are not read.`,
    )
  if (options.command === 'init') return console.log(initText(migration, options.folder))
  if (options.write) write(project, migration, options.force)
  else for (const { path, before, after } of migration.changes) console.log(unifiedDiff(path, before, after))
  console.log(leftText(migration, options.write))
  console.log(summary(migration, options.write))
}

function write(project: Project, { changes }: Migration, force: boolean): void {
  if (!force) assertClean(project.folder)
  for (const { path, after } of changes) writeFileSync(join(project.folder, path), after)
}

/** Uncommitted changes could not be distinguished from the changes of the migration. */
function assertClean(folder: string): void {
  const changed = git(folder, ['status', '--porcelain', '--', '.'])
  if (changed === undefined)
    throw new Error(
      `${folder} is in no git repository, so that nothing could be taken back. Add it to one, or give --force.`,
    )
  const [first] = changed.split('\n')
  if (first)
    throw new Error(`git has changes that are not committed: ${first.trim()}. Commit or stash them, or give --force.`)
}

function git(folder: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}

function ownVersion(): string {
  return (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version
}

try {
  main(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
