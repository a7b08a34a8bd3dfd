import { writeFileSync } from 'node:fs'
import type { Bench, Case, CaseResult, Serving } from './cases/case.ts'
import { calls } from './cases/server/calls.ts'
import { elicitation } from './cases/server/elicitation.ts'
import { fetch } from './cases/server/fetch.ts'
import { jar } from './cases/client/jar.ts'
import { journal } from './cases/server/journal.ts'
import { layers } from './cases/client/layers.ts'
import { bridge } from './cases/bridge/bridge.ts'
import { parked } from './cases/bridge/parked.ts'
import { approvals } from './cases/gateway/approvals.ts'
import { gateway } from './cases/gateway/gateway.ts'
import { frameworks } from './cases/frameworks/frameworks.ts'
import { growth } from './cases/growth/growth.ts'
import { figureLine } from './cases/report.ts'
import { memory } from './cases/server/memory.ts'
import { seal } from './cases/server/seal.ts'
import { stdio } from './cases/server/stdio.ts'
import { streams } from './cases/server/streams.ts'
import { questions } from './cases/tasks/questions.ts'
import { tasks } from './cases/tasks/tasks.ts'
import { tools } from './cases/server/tools.ts'
import { type Figure, verdict } from './measure/figure.ts'
import { InterferenceBudget } from './measure/interference.ts'
import { type CaseName, type Options, readOptions, USAGE } from './options.ts'
import { writeRole } from './programs/role.ts'
import { FULL, type Plan, QUICK } from './plan.ts'
import { type Built, buildPrograms } from './processes/build.ts'
import { killChildrenAtExit, startChild } from './processes/child.ts'
import { coresBusyMs, measureOthersCpu } from './processes/cpuUsage.ts'
import { LOAD_CORE, onCore, pinLoadGenerator, SERVER_CORE } from './processes/affinity.ts'
import { profilePannier } from './profile.ts'

const CASES: Record<CaseName, Case> = {
  calls,
  elicitation,
  fetch,
  stdio,
  memory,
  streams,
  tools,
  seal,
  journal,
  layers,
  jar,
  tasks,
  gateway,
  bridge,
  parked,
  frameworks,
  growth,
  approvals,
  questions,
}

const REPEATED = 'measurements were repeated because other processes used the machine.'

async function main(options: Options): Promise<number> {
  const started = performance.now()
  killChildrenAtExit()
  const pinned = pinLoadGenerator()
  introduce(options, pinned)
  if (options.profile) {
    await profilePannier(options.only, pinned)
    return 0
  }
  const results = await runCases(options, pinned)
  const wrong = summarize(results)
  if (options.json !== undefined) writeRaw(options.json, options, results)
  console.log(`${Math.round((performance.now() - started) / 1000)} s`)
  return wrong === 0 ? 0 : 1
}

function introduce(options: Options, pinned: boolean): void {
  const cores = pinned
    ? `servers on core ${SERVER_CORE}, load on core ${LOAD_CORE}`
    : 'NOT pinned: no taskset or one core'
  console.log(`Node ${process.version}, ${cores}. Medians, with the lowest and highest round in brackets.`)
  if (options.quick)
    console.log('Quick: too short to warm up the SDK, so ratios to it are too high. The figures are not reliable.')
}

async function runCases(options: Options, pinned: boolean): Promise<Map<CaseName, CaseResult>> {
  const programs = [...new Set(options.only.flatMap((name) => CASES[name].programs))]
  const built = await buildPrograms(programs)
  const plan = planFor(options)
  const budget = new InterferenceBudget(plan.patienceMs, coresBusyMs)
  const bench = openBench(plan, budget, built, pinned, options.write)
  const results = new Map<CaseName, CaseResult>()
  for (const name of options.only) {
    console.log(`\n${name}: ${CASES[name].title}`)
    const result = await CASES[name].run(bench)
    results.set(name, result)
    for (const line of [...result.lines, ...result.figures.map(figureLine)]) console.log(`  ${line}`)
    if (result.wrong.count > 0)
      console.log(`  WRONG RESPONSES: ${result.wrong.count}, the first: ${result.wrong.first}`)
  }
  if (budget.repeated > 0) console.log(`\n${budget.repeated} ${REPEATED}`)
  return results
}

function planFor({ quick, patienceSeconds }: Options): Plan {
  const plan = quick ? QUICK : FULL
  return patienceSeconds === undefined ? plan : { ...plan, patienceMs: patienceSeconds * 1000 }
}

function openBench(plan: Plan, budget: InterferenceBudget, built: Built, pinned: boolean, writesPages: boolean): Bench {
  const roleArgv = (role: Serving): string[] => writeRole({ tool: 'echo', registered: 1, ...role })
  return {
    plan,
    pinned,
    writesPages,
    undisturbed: (children, work) => budget.undisturbed(() => measureOthersCpu(children, work)),
    startServer(program, role, core = SERVER_CORE) {
      const argv = roleArgv(role)
      return startChild({ file: built.file(program), argv, pinned, core, pipes: role.transport === 'stdio' })
    },
    file: (program) => built.file(program),
    startProgram: (program, argv = [], core = SERVER_CORE) =>
      startChild({ file: built.file(program), argv, pinned, core }),
    serverCommand: (program, role) =>
      onCore(LOAD_CORE, pinned, [process.execPath, built.file(program), ...roleArgv(role)]),
  }
}

/** Prints all required figures again, and returns the number of wrong responses. */
function summarize(results: Map<CaseName, CaseResult>): number {
  const figures = [...results.values()].flatMap((result) => result.figures)
  const wrong = [...results.values()].reduce((sum, result) => sum + result.wrong.count, 0)
  console.log('\nRequired figures')
  for (const figure of figures) console.log(`  ${figureLine(figure)}`)
  const met = figures.filter((figure) => verdict(figure) === 'met').length
  console.log(`${met} of ${figures.length} figures met, ${figures.length - met} short, ${wrong} wrong responses`)
  return wrong
}

function writeRaw(file: string, options: Options, results: Map<CaseName, CaseResult>): void {
  const cases = Object.fromEntries(
    [...results].map(([name, { raw, figures, wrong }]) => [name, { figures, wrong, raw }]),
  )
  const judged = (figure: Figure) => ({ ...figure, verdict: verdict(figure) })
  const figures = [...results.values()].flatMap((result) => result.figures.map(judged))
  writeFileSync(file, JSON.stringify({ node: process.version, quick: options.quick, figures, cases }, null, 2))
}

function optionsOrUsage(): Options {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${String(error)}\n${USAGE}`)
    return process.exit(2)
  }
}

process.exitCode = await main(optionsOrUsage())
