/** What happens to the processes of a run, as its seed decides. */
import type { Random } from '../fuzz/random.ts'
import { FAIR, type NetworkWeather } from './network.ts'

export const CLIMATES = ['calm', 'rolling', 'crashes', 'freezes', 'network', 'storm'] as const

/** Which kinds of faults a run has. */
export type Climate = (typeof CLIMATES)[number]

export type Fault =
  | {
      readonly kind: 'kill'
      readonly at: number
      readonly backAfterMs: number
      /** Whether it hits the process to which the next request of a client comes, with that request in its hands. */
      readonly isAtRequest: boolean
    }
  | { readonly kind: 'stop'; readonly at: number; readonly backAfterMs: number; readonly deadlineMs: number }
  | { readonly kind: 'freeze'; readonly at: number; readonly forMs: number }

export interface Plan {
  readonly climate: Climate
  readonly network: NetworkWeather
  readonly faults: readonly Fault[]
  /** Whether processes share a ledger and a store. */
  readonly directory: Directory
}

export const DIRECTORIES = ['members', 'database'] as const
export type Directory = (typeof DIRECTORIES)[number]

const FAULTY: NetworkWeather = { cut: 0.06, twice: 0.05, slow: 0.05 }
const REPEATING: NetworkWeather = { cut: 0, twice: 0.05, slow: 0 }
/** Faults happen within this time, while calls are under way. */
const FAULTS_WITHIN_MS = 7000

export function planOf(random: Random, fixed: Partial<Pick<Plan, 'climate' | 'directory'>> = {}): Plan {
  const climate = fixed.climate ?? random.pick([...CLIMATES, 'crashes', 'rolling'] as const)
  const directory = fixed.directory ?? random.pick(DIRECTORIES)
  const network = weatherOf(random, climate)
  const kinds = kindsOf(climate)
  const count = kinds.length === 0 ? 0 : 1 + random.below(4)
  const faults = Array.from({ length: count }, () => faultOf(random, random.pick(kinds)))
  return { climate, directory, network, faults }
}

function weatherOf(random: Random, climate: Climate): NetworkWeather {
  switch (climate) {
    case 'network':
      return random.chance(0.3) ? REPEATING : FAULTY
    case 'storm':
      return FAULTY
    default:
      return FAIR
  }
}

function kindsOf(climate: Climate): readonly Fault['kind'][] {
  switch (climate) {
    case 'calm':
    case 'network':
      return []
    case 'rolling':
      return ['stop']
    case 'crashes':
      return ['kill', 'kill', 'stop']
    case 'freezes':
      return ['freeze']
    case 'storm':
      return ['kill', 'stop', 'freeze']
    default:
      return climate satisfies never
  }
}

function faultOf(random: Random, kind: Fault['kind']): Fault {
  const at = 400 + random.next() * FAULTS_WITHIN_MS
  const backAfterMs = 30 + random.next() * 2500
  if (kind === 'freeze') return { kind, at, forMs: 100 + random.next() * 8000 }
  if (kind === 'kill') return { kind, at, backAfterMs, isAtRequest: random.chance(0.5) }
  return { kind, at, backAfterMs, deadlineMs: random.pick([4000, 10_000, 25_000]) }
}
