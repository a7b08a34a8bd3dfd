import { parseArgs } from 'node:util'

export const CASE_NAMES = [
  'calls',
  'elicitation',
  'fetch',
  'stdio',
  'memory',
  'streams',
  'tools',
  'seal',
  'journal',
  'layers',
  'jar',
  'tasks',
  'gateway',
  'bridge',
  'parked',
  'frameworks',
  'growth',
  'approvals',
  'questions',
] as const
export type CaseName = (typeof CASE_NAMES)[number]

export interface Options {
  /** Short rounds and little warm-up: shows that the bench works; the figures are not reliable. */
  quick: boolean
  only: readonly CaseName[]
  /** Where the raw numbers go. */
  json?: string
  /** Whether results go to `docs/reference/performance.md`. */
  write: boolean
  /** Profile Pannier instead of comparing. */
  profile: boolean
  /** Time for repetitions while other processes use the machine. @default 60, with `quick` 3 */
  patienceSeconds?: number
}

export const USAGE = `npm run bench [-- options]
  --quick        short rounds, about two minutes; the figures are not reliable
  --only a,b     of ${CASE_NAMES.join(', ')}
  --json FILE    write the raw numbers
  --write        write the comparison of frameworks to docs/reference/performance.md
  --patience S   spend up to S seconds on repetitions while other processes use the machine (default 60, quick 3)
  --profile      profile Pannier under load and print its ten hottest functions`

export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string' },
      write: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      patience: { type: 'string' },
    },
  })
  return {
    quick: values.quick,
    write: values.write,
    profile: values.profile,
    only: readCases(values.only),
    ...(values.json !== undefined && { json: values.json }),
    ...(values.patience !== undefined && { patienceSeconds: Number(values.patience) }),
  }
}

function readCases(list: string | undefined): readonly CaseName[] {
  if (list === undefined) return CASE_NAMES
  const wanted = list.split(',').map((name) => name.trim())
  const unknown = wanted.find((name) => !isCaseName(name))
  if (unknown !== undefined) throw new Error(`No case is called "${unknown}". There are: ${CASE_NAMES.join(', ')}.`)
  return CASE_NAMES.filter((name) => wanted.includes(name))
}

function isCaseName(name: string): name is CaseName {
  return (CASE_NAMES as readonly string[]).includes(name)
}
