/**
 * Method 2, the capability score: hints in the `initialize` result, in integer tenths so that 0.3 and 0.7 are exact.
 * It is a guess, and counts only together with another method.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { type MethodResult, methodResult, type State } from './result.ts'

const NEUTRAL = 5
const STATELESS_ABOVE = 7
const STATEFUL_BELOW = 3

interface Hint {
  readonly tenths: number
  readonly because: string
  readonly holds: (capabilities: Json, name: string) => boolean
}

const HINTS: readonly Hint[] = [
  { tenths: 1, because: 'it logs', holds: ({ logging }) => isTruthy(logging) },
  { tenths: 1, because: 'its list of tools may change', holds: ({ tools }) => has(tools, 'listChanged') },
  { tenths: 2, because: 'its name has http, rest or api', holds: (_, name) => /http|rest|api/.test(name) },
  { tenths: -2, because: 'resources can be subscribed to', holds: ({ resources }) => has(resources, 'subscribe') },
  { tenths: -2, because: 'its name has cli or local', holds: (_, name) => /cli|local/.test(name) },
]

/** Scores the result of an `initialize`. */
export function capabilityScore(result: Json): MethodResult {
  const capabilities = isObject(result['capabilities']) ? result['capabilities'] : {}
  const { name } = isObject(result['serverInfo']) ? result['serverInfo'] : {}
  const lower = typeof name === 'string' ? name.toLowerCase() : ''
  const hints = HINTS.filter(({ holds }) => holds(capabilities, lower))
  const tenths = hints.reduce((sum, hint) => sum + hint.tenths, NEUTRAL)
  const state = stateOf(tenths)
  const because = hints.map((hint) => hint.because)
  return methodResult('capabilities', state, messageOf(state, tenths, because), {
    // 0.7 is level "medium", 0.3 is "low".
    confidence: state === 'UNKNOWN' ? 0.3 : 0.7,
    details: { score: tenths / 10, because },
  })
}

function stateOf(tenths: number): State {
  if (tenths > STATELESS_ABOVE) return 'STATELESS'
  return tenths < STATEFUL_BELOW ? 'STATEFUL' : 'UNKNOWN'
}

function messageOf(state: State, tenths: number, because: readonly string[]): string {
  const why = because.length === 0 ? '' : `: ${because.join(', ')}`
  const likely = state === 'UNKNOWN' ? 'unclear' : `likely ${state.toLowerCase()}`
  return `Its capabilities score ${(tenths / 10).toFixed(1)}, ${likely}${why}.`
}

/** In the protocol an empty object declares a capability, so `logging: {}` counts. */
function isTruthy(value: unknown): boolean {
  return Boolean(value)
}

function has(capability: unknown, member: string): boolean {
  return isObject(capability) && isTruthy(capability[member])
}
