import { evidence } from '../report/evidence.ts'
import { speaksLegacy } from '../decision/findings.ts'
import { INITIALIZE, LIST_TOOLS } from '../wire/messages.ts'
import { sequentialResult } from '../methods/sequential.ts'
import { alone } from '../decision/steps.ts'
import type { Check } from './check.ts'

/** A server of both eras may keep sessions for its older clients. */
export const olderEra: Check = {
  name: 'older-era',
  isUsual: true,
  cost: ({ findings }) =>
    findings.era?.era === 'modern' && findings.transport === 'http' && speaksLegacy(findings) ? 4 : undefined,
  run: async ({ wire }) => {
    const initialize = await alone(wire, INITIALIZE)
    const result = sequentialResult(initialize, await alone(wire, LIST_TOOLS))
    const { state, message } = result
    const sentence = `For clients of older revisions it is ${state}: ${message}`
    return evidence('older-era', state === 'STATEFUL' ? 'STATEFUL' : 'UNKNOWN', sentence, { state })
  },
}
