/** The official suite: what it requires, and what it found. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from './children.ts'

export type Revision = '2026-07-28' | '2025-11-25' | '2025-06-18' | '2025-03-26'
export type Side = 'server' | 'client'

/** The revisions that the suite has a list of requirements for. */
export type RequiredRevision = Exclude<Revision, '2025-06-18' | '2025-03-26'>

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
  /** The suite's own verdict on all of it. */
  readonly exitCode: number | undefined
  /** What the suite wrote. */
  readonly output: string
}

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))
const timeLimitMs = 300_000
const clientProgram = join(import.meta.dirname, 'client.ts')

/** The scenarios that a revision requires of one side. */
export function requiredScenarios(side: Side, revision: RequiredRevision): Promise<string[]> {
  return listed(side, '--requirements', revision)
}

/** All scenarios that the suite has for a revision of one side. */
export function scenariosAt(side: Side, revision: Revision): Promise<string[]> {
  return listed(side, '--spec-version', revision)
}

async function listed(side: Side, option: string, revision: Revision): Promise<string[]> {
  const { output } = await runProgram(program, ['list', `--${side}`, option, revision], timeLimitMs)
  const section = output.split(new RegExp(`^${side} scenarios.*$`, 'im'))[1]?.split(/\n\s*\n/)[0] ?? ''
  const names = Array.from(section.matchAll(/^\s+- (\S+)/gm), ([, name = '']) => name)
  if (names.length === 0) throw new Error(`The suite lists no ${side} scenarios for ${revision}:\n${output}`)
  return names
}

/** Runs what a revision requires of a server, and what the suite runs beside it without scoring it. */
export function runServerSuite(url: string, revision: RequiredRevision, folder: string): Promise<SuiteRun> {
  return runSuite(['server', '--url', url, '--requirements', revision], folder)
}

/** Runs everything that the suite has for a revision of a server. */
export function runServerRevision(url: string, revision: Revision, folder: string): Promise<SuiteRun> {
  return runSuite(['server', '--url', url, '--suite', 'all', '--spec-version', revision], folder)
}

/** Runs one of the suite's own selections, each scenario at the revision it is for. */
export function runServerSelection(url: string, selection: string, folder: string): Promise<SuiteRun> {
  return runSuite(['server', '--url', url, '--suite', selection], folder)
}

/** Runs one scenario against a server, also one that no revision requires. */
export function runServerScenario(url: string, scenario: string, folder: string): Promise<SuiteRun> {
  return runSuite(['server', '--url', url, '--scenario', scenario], folder)
}

/** Runs one scenario against our client. Only so do its exit code and its time count for the suite. */
export function runClientScenario(scenario: string, revision: Revision, folder: string): Promise<SuiteRun> {
  const command = `${process.execPath} --conditions=pannier-source ${clientProgram}`
  const named = ['--scenario', scenario, '--spec-version', revision, '--force']
  return runSuite(['client', '--command', command, ...named], folder)
}

async function runSuite(args: readonly string[], folder: string): Promise<SuiteRun> {
  const { exitCode, output } = await runProgram(program, [...args, '--output-dir', folder], timeLimitMs)
  return { checks: readChecks(folder), exitCode, output }
}

/** The suite writes one folder for each scenario, named after it and the time; it is empty when the scenario broke. */
function readChecks(folder: string): Map<string, Check[]> {
  const found = new Map<string, Check[]>()
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
  for (const file of files.filter((path) => path.endsWith('checks.json'))) {
    const scenario = /^(?:server-)?(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z\/checks\.json$/.exec(file)?.[1]
    if (scenario !== undefined) found.set(scenario, JSON.parse(readFileSync(join(folder, file), 'utf8')) as Check[])
  }
  return found
}
