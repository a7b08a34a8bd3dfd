import { ratios } from '../../measure/series.ts'
import { ownLoad } from '../../load/kinds.ts'
import { sideBySide } from '../comparison.ts'

/** The web-standard door: `Request` in, `Response` out, in process. */
export const fetch = sideBySide({
  title: 'the fetch entry, in process, 32 requests in flight, one zod echo tool',
  unit: 'calls/s',
  entrants: [
    { name: 'sdk', program: 'sdk', role: { door: 'fetch' }, load: ownLoad() },
    { name: 'pannier', program: 'pannier', role: { door: 'fetch' }, load: ownLoad() },
  ],
  figures: (of) => [{ label: 'fetch: pannier / sdk', ...ratios(of('pannier'), of('sdk')), asked: 2.5 }],
})
