import { ratios } from '../../measure/series.ts'
import { spreadText } from '../report.ts'
import { echoLoad } from '../../load/kinds.ts'
import { comparisonCase } from '../comparison.ts'

const ONE = 'one tool'
const MANY = '1,000, one called'
const ALL = '1,000, all called'
const registered = 1000

/**
 * A call must not cost more because other tools are registered. When all 1,000 are called, each schema is cold; that is
 * printed, not required.
 */
export const tools = comparisonCase({
  title: 'ours with 1,000 registered tools against one, over HTTP',
  unit: 'calls/s',
  entrants: [
    { name: ONE, program: 'pannier', role: { transport: 'http' }, load: echoLoad() },
    { name: MANY, program: 'pannier', role: { transport: 'http', registered }, load: echoLoad({ registered }) },
    {
      name: ALL,
      program: 'pannier',
      role: { transport: 'http', registered },
      load: echoLoad({ registered, spread: true }),
    },
  ],
  figures: (of) => [{ label: 'tools: 1,000 registered / one', ...ratios(of(MANY), of(ONE)), required: 0.95 }],
  remarks: (of) => [`All 1,000 called in turn / one: ${spreadText(ratios(of(ALL), of(ONE)).value)}`],
})
