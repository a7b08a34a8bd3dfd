import type { Series } from '../../measure/compare.ts'
import { loadShare, ratios, serverShare } from '../../measure/series.ts'
import { echoLoad } from '../../load/kinds.ts'
import { comparisonCase } from '../comparison.ts'

const GENERATOR_FREE = 'The baseline uses its core fully and the load generator does not: the server is the bottleneck.'
const GENERATOR_BOUND =
  'CAUTION: the load generator may be the bottleneck; the ratios to the baseline are then too high.'

/** Pannier with all checks, against bare `node:http` without any and against the SDK. */
export const calls = comparisonCase({
  title: 'tools/call over HTTP, 32 keep-alive connections, one zod echo tool',
  unit: 'calls/s',
  entrants: [
    { name: 'baseline', program: 'baseline', role: { transport: 'http' }, load: echoLoad() },
    { name: 'sdk', program: 'sdk', role: { transport: 'http' }, load: echoLoad() },
    { name: 'pannier', program: 'pannier', role: { transport: 'http' }, load: echoLoad() },
  ],
  figures: (of) => [
    { label: 'calls: pannier / baseline', ...ratios(of('pannier'), of('baseline')), required: 0.75, aim: 0.85 },
    { label: 'calls: pannier / sdk', ...ratios(of('pannier'), of('sdk')), required: 5, aim: 7 },
  ],
  remarks: (of) => [isServerBound(of('baseline')) ? GENERATOR_FREE : GENERATOR_BOUND],
})

function isServerBound(baseline: Series): boolean {
  return serverShare(baseline) > 0.9 && loadShare(baseline) < 0.9
}
