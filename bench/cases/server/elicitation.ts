import { ratios } from '../../measure/series.ts'
import { confirmLoad } from '../../load/kinds.ts'
import { comparisonCase } from '../comparison.ts'

/** A call, a question, its answer, the result: our encrypted state against the SDK's signed state. */
export const elicitation = comparisonCase({
  title: 'two-round elicitation over HTTP, 32 connections, sealed state against HMAC-signed state',
  unit: 'flows/s',
  entrants: [
    { name: 'sdk', program: 'sdk', role: { transport: 'http', tool: 'confirm' }, load: confirmLoad() },
    { name: 'pannier', program: 'pannier', role: { transport: 'http', tool: 'confirm' }, load: confirmLoad() },
  ],
  figures: (of) => [{ label: 'elicitation: pannier / sdk', ...ratios(of('pannier'), of('sdk')), required: 5, aim: 6 }],
})
