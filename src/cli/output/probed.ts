import type { Verdict } from '../../probe/index.ts'
import type { Failure } from '../failure.ts'

/** What became of one server of several. */
export type Probed = { readonly name: string } & ({ readonly verdict: Verdict } | { readonly failure: Failure })
