import { type Case, mergeResults } from '../case.ts'
import { compareFlows } from './flows.ts'
import { compareForwarding } from './forwarding.ts'

/** What it costs that a client and a server are of different eras: flows, and answers at another replica. */
export const bridge: Case = {
  title: 'calls that ask, between the eras',
  programs: ['gateway', 'pannier', 'sessionServer'],
  async run(bench) {
    return mergeResults([await compareFlows(bench), await compareForwarding(bench)])
  },
}
