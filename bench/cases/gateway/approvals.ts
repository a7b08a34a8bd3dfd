import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Figure } from '../../measure/figure.ts'
import { quantile, spreadOf } from '../../measure/statistics.ts'
import { LOAD_CORE, SERVER_CORE } from '../../processes/affinity.ts'
import type { Child } from '../../processes/child.ts'
import { writeRole } from '../../programs/role.ts'
import { type Bench, type Case, type CaseResult, withChildren } from '../case.ts'
import { fine } from '../report.ts'

/** The maximum median time from an approval until the call continues, in milliseconds. */
const REQUIRED_MS = { 'one process': 100, 'two processes': 250 }
/** What a rule may add to a call without approval, in microseconds. */
const REQUIRED_MICROS = 10
const DECIDING_ROUNDS = 9

/** The time from an approval until its call continues, and the cost of a rule. */
export const approvals: Case = {
  title: 'approvals at the gateway',
  programs: ['approvals'],
  async run(bench) {
    const folder = mkdtempSync(join(tmpdir(), 'pannier-bench-'))
    try {
      return await measureIn(bench, join(folder, 'questions.db'))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function measureIn(bench: Bench, path: string): Promise<CaseResult> {
  const role = writeRole({ store: { store: path } })
  const starting = [SERVER_CORE, LOAD_CORE].map((core) => bench.startProgram('approvals', role, core))
  return withChildren(starting, async ([gateway, other]) => {
    if (gateway === undefined || other === undefined) throw new Error('Nothing was started.')
    const url = await gateway.ask<string>('serve')
    const time = async (child: Child): Promise<number[]> => {
      const ask = (): Promise<number[]> => child.ask('measure', { url, count: bench.plan.tasks.answers })
      return (await bench.undisturbed([gateway, other], async () => ({ times: await ask() }))).times
    }
    const times = { 'one process': await time(gateway), 'two processes': await time(other) }
    const micros: number[] = []
    while (micros.length < DECIDING_ROUNDS) micros.push(await other.ask<number>('measureRule'))
    return settle(times, micros)
  })
}

function settle(times: Record<keyof typeof REQUIRED_MS, number[]>, micros: number[]): CaseResult {
  const places = Object.keys(REQUIRED_MS) as (keyof typeof REQUIRED_MS)[]
  const waits = places.map((where): Figure => {
    const value = spreadOf(times[where])
    return { label: `approval to call, ms, ${where}`, value, required: REQUIRED_MS[where], wanted: 'atMost' }
  })
  const rule: Figure = {
    label: 'a rule, microseconds',
    value: spreadOf(micros),
    required: REQUIRED_MICROS,
    wanted: 'atMost',
  }
  const lines = places.map(
    (where) =>
      `approval to call, ${where}: p50 ${fine(quantile(times[where], 0.5))} ms, p95 ${fine(quantile(times[where], 0.95))} ms`,
  )
  return { lines, figures: [...waits, rule], wrong: { count: 0 }, raw: { times, micros } }
}
