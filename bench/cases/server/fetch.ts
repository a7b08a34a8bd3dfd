import { ratios } from '../../measure/series.ts'
import { selfLoad } from '../../load/kinds.ts'
import { comparisonCase } from '../comparison.ts'

/** The fetch handler: `Request` in, `Response` out, in process. */
export const fetch = comparisonCase({
  title: 'the fetch entry, in process, 32 requests in flight, one zod echo tool',
  unit: 'calls/s',
  entrants: [
    { name: 'sdk', program: 'sdk', role: { transport: 'fetch' }, load: selfLoad() },
    { name: 'pannier', program: 'pannier', role: { transport: 'fetch' }, load: selfLoad() },
  ],
  figures: (of) => [{ label: 'fetch: pannier / sdk', ...ratios(of('pannier'), of('sdk')), required: 2.5 }],
})
