import { ratios } from '../../measure/series.ts'
import { pipeLoad } from '../../load/kinds.ts'
import { comparisonCase } from '../comparison.ts'

/** Child processes, connected by pipes. */
export const stdio = comparisonCase({
  title: 'stdio, 32 calls in flight, one zod echo tool',
  unit: 'calls/s',
  entrants: [
    { name: 'sdk', program: 'sdk', role: { transport: 'stdio' }, load: pipeLoad() },
    { name: 'pannier', program: 'pannier', role: { transport: 'stdio' }, load: pipeLoad() },
  ],
  figures: (of) => [{ label: 'stdio: pannier / sdk', ...ratios(of('pannier'), of('sdk')), required: 2 }],
})
