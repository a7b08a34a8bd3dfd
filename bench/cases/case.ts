import type { Figure } from '../measure/figure.ts'
import type { Interference } from '../measure/interference.ts'
import type { Plan } from '../plan.ts'
import type { Program } from '../processes/build.ts'
import type { Child } from '../processes/child.ts'
import type { CpuSource } from '../processes/cpuUsage.ts'
import type { ServerRole } from '../programs/role.ts'

/** What a case may use. */
export interface Bench {
  plan: Plan
  /** Whether processes are pinned to cores. */
  pinned: boolean
  /** Repeats a measurement during which other processes used the machine. */
  undisturbed<T extends object>(children: readonly CpuSource[], work: () => Promise<T>): Promise<T & Interference>
  startServer(program: Program, role: Serving, core?: number): Promise<Child>
  startProgram(program: Program, argv?: string[], core?: number): Promise<Child>
  /** Whether results may go to pages of the documentation. */
  writesPages: boolean
  /** The built file of a program. */
  file(program: Program): string
  /** The command line by which a measured client starts its server, on the core that is not its own. */
  serverCommand(program: Program, role: Serving): string[]
}

/** A server's role; what is missing has its default. */
export type Serving = Partial<ServerRole> & Pick<ServerRole, 'transport'>

export interface CaseResult {
  /** What is printed. */
  lines: string[]
  figures: Figure[]
  wrong: { count: number; first?: string }
  /** What goes to the JSON file. */
  raw: unknown
}

export interface Case {
  title: string
  programs: readonly Program[]
  run(bench: Bench): Promise<CaseResult>
}

/** Runs work with started processes and ends them, also after a failure. */
export async function withChildren<T>(starting: Promise<Child>[], work: (all: Child[]) => Promise<T>): Promise<T> {
  const started = await Promise.allSettled(starting)
  const children = started.filter((one) => one.status === 'fulfilled').map((one) => one.value)
  try {
    const failed = started.find((one) => one.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return await work(children)
  } finally {
    await Promise.all(children.map((child) => child.stop()))
  }
}

export function withChild<T>(starting: Promise<Child>, work: (child: Child) => Promise<T>): Promise<T> {
  return withChildren([starting], ([child]) => {
    if (child === undefined) throw new Error('Nothing was started.')
    return work(child)
  })
}

/** The results of several measurements as one result. */
export function mergeResults(results: readonly CaseResult[]): CaseResult {
  const first = results.find(({ wrong }) => wrong.first !== undefined)?.wrong.first
  const count = results.reduce((sum, { wrong }) => sum + wrong.count, 0)
  return {
    lines: results.flatMap(({ lines }) => lines),
    figures: results.flatMap(({ figures }) => figures),
    wrong: first === undefined ? { count } : { count, first },
    raw: results.map(({ raw }) => raw),
  }
}
