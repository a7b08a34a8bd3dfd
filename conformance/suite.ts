/** The official suite: what it requires, and what it found. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from './children.ts'

export type Revision = '2026-07-28' | '2025-11-25'

/** The part of the suite's `checks.json` that we read. */
export interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly description: string
  readonly errorMessage?: string
}

export interface SuiteRun {
  /** The checks of each scenario that came to its end. */
  readonly checks: ReadonlyMap<string, readonly Check[]>
  /** What the suite wrote. */
  readonly output: string
}

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))
const timeLimitMs = 120_000

/** The server scenarios that a revision requires. */
export async function requiredScenarios(revision: Revision): Promise<string[]> {
  const output = await runProgram(program, ['list', '--server', '--requirements', revision], timeLimitMs)
  const section = output.split(/^Server scenarios.*$/m)[1]?.split(/\n\s*\n/)[0] ?? ''
  const names = Array.from(section.matchAll(/^\s+- (\S+)/gm), ([, name = '']) => name)
  if (names.length === 0) throw new Error(`The suite lists no server scenarios for ${revision}:\n${output}`)
  return names
}

/** Runs what a revision requires, and what the suite runs beside it without scoring it. */
export async function runSuite(url: string, revision: Revision, folder: string): Promise<SuiteRun> {
  const args = ['server', '--url', url, '--requirements', revision, '--output-dir', folder]
  const output = await runProgram(program, args, timeLimitMs)
  return { checks: readChecks(folder), output }
}

/** The suite writes one folder for each scenario, named after it and the time; it is empty when the scenario broke. */
function readChecks(folder: string): Map<string, Check[]> {
  const found = new Map<string, Check[]>()
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const scenario = /^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/.exec(name)?.[1]
    const file = join(folder, name, 'checks.json')
    if (scenario !== undefined && existsSync(file))
      found.set(scenario, JSON.parse(readFileSync(file, 'utf8')) as Check[])
  }
  return found
}
