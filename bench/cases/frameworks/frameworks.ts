/** Frameworks for servers in TypeScript, by the method that `mcp-use` has published for its own comparison. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages, versionOf } from '../../../interop/packages.ts'
import type { Outcome, Session } from '../../load/load.ts'
import { type Dialect, openMixLoad } from '../../load/mixLoad.ts'
import { median, spreadOf } from '../../measure/statistics.ts'
import { type PlainServer, startPlainServer } from '../../processes/plainServer.ts'
import type { Bench, Case, CaseResult } from '../case.ts'
import { whole } from '../report.ts'
import { writePage } from './page.ts'

const CONNECTIONS = 50
const SLICE_MS = 500
/** A warm-up ends after this many times its CPU time at the latest. */
const MAX_FACTOR = 10
const root = join(import.meta.dirname, '../../..')
const theirs = join(import.meta.dirname, '../../frameworks')

/** A framework, with the program that serves one echo tool. */
interface Framework {
  readonly name: string
  readonly version: () => string
  readonly dialect: Dialect
  readonly file: (bench: Bench) => string
}

const FRAMEWORKS: readonly Framework[] = [
  {
    name: 'bare node:http, no checks',
    version: () => process.version,
    dialect: 'stateless',
    file: (bench) => bench.file('launchBare'),
  },
  { name: 'Pannier', version: ownVersion, dialect: 'stateless', file: (bench) => bench.file('launchPannier') },
  installed('tmcp', 'stateless'),
  installed('mcp-use', 'stateless'),
  {
    name: 'official SDK v2',
    version: () => versionOf(root, '@modelcontextprotocol/server') ?? '',
    dialect: 'stateless',
    file: (bench) => bench.file('launchSdk'),
  },
  installed('fastmcp', 'session'),
]

/** One measured framework. */
export interface MeasuredFramework {
  readonly name: string
  readonly version: string
  readonly dialect: Dialect
  /** Operations per second, and per second of the server's CPU time; the median of the rounds. */
  readonly rate: number
  readonly perCpuSecond: number
  /** From before the process is created until it accepts a connection, in milliseconds. */
  readonly launch: { readonly median: number; readonly low: number; readonly high: number }
}

export const frameworks: Case = {
  title: 'frameworks for servers: one tools/list for nine tools/call, 50 connections; cold launch',
  programs: ['launchBare', 'launchPannier', 'launchSdk'],
  async run(bench): Promise<CaseResult> {
    for (const name of ['tmcp', 'mcp-use', 'fastmcp']) installPackages(join(theirs, name))
    const loads = FRAMEWORKS.map((): Load[] => [])
    for (let round = 0; round < bench.plan.frameworks.rounds; round++)
      for (const at of rotated(round)) loads[at]?.push(await underLoad(bench, at))
    const launches = FRAMEWORKS.map((): number[] => [])
    const { unrecorded, launches: recorded } = bench.plan.frameworks
    for (let round = 0; round < unrecorded + recorded; round++)
      for (const at of rotated(round)) {
        const ms = await launch(bench, at)
        if (round >= unrecorded) launches[at]?.push(ms)
      }
    const measured = FRAMEWORKS.map(({ name, version, dialect }, at): MeasuredFramework => {
      const own = loads[at] ?? []
      const rate = median(own.map(({ count, ms }) => count / (ms / 1000)))
      const perCpuSecond = median(own.map(({ count, serverMs }) => count / (serverMs / 1000)))
      return { name, version: version(), dialect, rate, perCpuSecond, launch: spreadOf(launches[at] ?? []) }
    })
    if (bench.writesPages) writePage(measured, bench.plan.frameworks)
    const wrong = loads.flat().filter((load) => load.wrong > 0)
    const first = wrong[0]?.firstWrong
    const count = wrong.reduce((sum, load) => sum + load.wrong, 0)
    return {
      lines: measured.map(line),
      figures: [],
      wrong: first === undefined ? { count } : { count, first },
      raw: { measured, loads, launches },
    }
  },
}

type Load = Outcome & { readonly serverMs: number }

function installed(name: string, dialect: Dialect): Framework {
  const folder = join(theirs, name)
  return { name, version: () => versionOf(folder, name) ?? '', dialect, file: () => join(folder, 'server.js') }
}

function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return version
}

/** The order of a round: each time another framework is the first. */
function rotated(round: number): readonly number[] {
  return FRAMEWORKS.map((_, place) => (place + round) % FRAMEWORKS.length)
}

/** A fresh process under load. */
async function underLoad(bench: Bench, at: number): Promise<Load> {
  const { file, dialect } = FRAMEWORKS[at] as Framework
  const { warmUpMs, ms } = bench.plan.frameworks
  const server = await startPlainServer(file(bench), bench.pinned)
  try {
    const session = await openMixLoad(server.port, dialect, CONNECTIONS)
    await warmUp(server, session, warmUpMs)
    const before = await server.ask('cpu')
    const outcome = await session.run({ ms })
    const serverMs = (await server.ask('cpu')) - before
    session.close()
    return { ...outcome, serverMs }
  } finally {
    await server.stop()
  }
}

/** By CPU time, because it takes longer while other processes use the machine. */
async function warmUp(server: PlainServer, session: Session, warmUpMs: number): Promise<void> {
  const begun = await server.ask('cpu')
  const until = performance.now() + MAX_FACTOR * warmUpMs
  while (performance.now() < until && (await server.ask('cpu')) - begun < warmUpMs) await session.run({ ms: SLICE_MS })
}

async function launch(bench: Bench, at: number): Promise<number> {
  const server = await startPlainServer((FRAMEWORKS[at] as Framework).file(bench), bench.pinned)
  await server.stop()
  return server.launchMs
}

function line({ name, version, rate, perCpuSecond, launch: { median: ms, low, high } }: MeasuredFramework): string {
  const launched = `launched in ${ms.toFixed(0)} ms (${low.toFixed(0)} … ${high.toFixed(0)})`
  return `${`${name} ${version}`.padEnd(34)} ${whole(rate).padStart(7)} operations/s, ${whole(perCpuSecond).padStart(7)} per CPU second; ${launched}`
}
