/** What must not grow: time and memory for one of a thing, while there are more and more of it. */
import { echoLoad } from '../../load/kinds.ts'
import { ratios, wrongIn } from '../../measure/series.ts'
import { type Spread, spreadOf } from '../../measure/statistics.ts'
import type { Bench, Case, CaseResult } from '../case.ts'
import { compareProcesses } from '../comparison.ts'
import { fine, whole } from '../report.ts'
import { type Growth, growCalls, growSubscriptions, growTasks } from './crowds.ts'

const REGISTERED = 1000
const CALL_KILOBYTES = 35

export const growth: Case = {
  title: 'time and memory of one, while there are many',
  programs: ['pannier', 'gateway', 'sessionServer', 'waitingTasks'],
  async run(bench): Promise<CaseResult> {
    const tools = await compareTools(bench)
    const subscriptions = await growSubscriptions(bench)
    const tasks = await growTasks(bench)
    const calls = await growCalls(bench)
    const grown = [subscriptions, tasks, calls]
    const memory = spreadOf([calls.kilobytes.all])
    return {
      lines: [
        HEADING,
        `${`${whole(REGISTERED)} tools, called in turn`.padEnd(38)} a call, by CPU: ${fine(tools.byCpu.median)} of the rate with one tool`,
        ...grown.map(line),
      ],
      figures: [
        { label: 'growth: 1,000 tools / one', ...tools, required: 0.97 },
        ...grown.map((one) => ({
          label: `growth: time, ${one.what}`,
          value: spreadOf([one.microseconds.all / one.microseconds.tenth]),
          required: FLAT,
          wanted: 'atMost' as const,
        })),
        { label: 'growth: KB for a waiting call', value: memory, required: CALL_KILOBYTES, wanted: 'atMost' },
      ],
      wrong: tools.wrong,
      raw: { tools, grown },
    }
  },
}

/** Twice the time for ten times as many would still be a logarithm; a measurement varies by a fifth. */
const FLAT = 1.25
const HEADING = `${''.padEnd(38)} CPU time of one: with a tenth, with all; memory of one: with a tenth, with all`

function line({ what, count, unit, microseconds, kilobytes }: Growth): string {
  const time = `${microseconds.tenth.toFixed(0)} µs, ${microseconds.all.toFixed(0)} µs ${unit}`
  const memory = `${kilobytes.tenth.toFixed(1)} KB, ${kilobytes.all.toFixed(1)} KB`
  return `${`${whole(count)} ${what}`.padEnd(38)} ${time}; ${memory}`
}

interface ToolRatios {
  readonly value: Spread
  readonly byCpu: Spread
  readonly wrong: CaseResult['wrong']
}

async function compareTools(bench: Bench): Promise<ToolRatios> {
  const warmUpMs = bench.plan.warmUpMs.pannier
  const start = (registered: number) => () => bench.startServer('pannier', { transport: 'http', registered })
  const series = await compareProcesses(bench, [
    { name: 'one tool', load: echoLoad(), warmUpMs, start: start(1) },
    {
      name: 'all called',
      load: echoLoad({ registered: REGISTERED, spread: true }),
      warmUpMs,
      start: start(REGISTERED),
    },
  ])
  const [one, all] = series
  if (one === undefined || all === undefined) throw new Error('The tools were not measured.')
  return { ...ratios(all, one), wrong: wrongIn(series) }
}
