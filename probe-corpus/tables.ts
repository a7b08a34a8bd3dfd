/** The results of a run as rows of cells, for the terminal and for the documentation. */
import { METHODS } from 'pannier/probe'
import { type JudgedServer, type Approach, APPROACHES } from './judge.ts'
import { accuracyOf, matrixOf, medianOf, type Pair, percentOf, STATES, TRUTHS } from './confusionMatrix.ts'

type Rows = readonly (readonly string[])[]

const TITLES: Readonly<Record<Approach, string>> = {
  sequential: `method 1, ${METHODS.sequential.title}`,
  capabilities: `method 2, ${METHODS.capabilities.title}`,
  metadata: `method 3, ${METHODS.metadata.title}`,
  tools: `method 4, ${METHODS.tools.title}`,
  program: `method 5, ${METHODS.program.title}`,
  documented: 'the documented combination',
  combined: 'the verdict',
  nameless: 'the verdict, no server known by name',
}

/** A row for each kind of server and each approach. */
export function matrixRows(all: readonly JudgedServer[]): Rows {
  const rows = APPROACHES.flatMap((approach) => {
    const matrix = matrixOf(pairsOf(all, approach))
    return TRUTHS.map((truth) => [TITLES[approach], truth, ...STATES.map((state) => String(matrix[truth][state]))])
  })
  return [['judged by', 'it is', ...STATES.map((state) => `judged ${state}`)], ...rows]
}

export function accuracyRows(all: readonly JudgedServer[]): Rows {
  const rows = APPROACHES.map((approach) => {
    const { all: servers, decided, right } = accuracyOf(matrixOf(pairsOf(all, approach)))
    const times = all.map(({ judgements }) => judgements[approach].ms)
    return [
      TITLES[approach],
      statedOf(approach),
      `${percentOf(right, servers)} (${right} of ${servers})`,
      `${percentOf(right, decided)} (${right} of ${decided})`,
      `${Math.round(medianOf(times))} ms`,
      `${Math.max(...times)} ms`,
    ]
  })
  const heading = ['judged by', 'stated', 'right', 'right where it decides', 'median time', 'longest']
  return [heading, ...rows]
}

/** For each kind of decision of the verdict without known names, how often it was right, and the confidence shown. */
export function decisionRows(all: readonly JudgedServer[]): Rows {
  const decided = all.map(({ configuration: { truth }, judgements: { nameless } }) => ({ truth, ...nameless }))
  const kinds = [...new Set(decided.map(({ by, state }) => `${by}: ${state}`))].toSorted()
  const rows = kinds.map((kind) => {
    const alike = decided.filter(({ by, state }) => `${by}: ${state}` === kind)
    const right = alike.filter(({ state, truth }) => state === truth).length
    const shown = alike.map(({ confidence }) => confidence)
    const [least, most] = [Math.min(...shown), Math.max(...shown)].map((share) => percentOf(share, 1))
    return [kind, least === most ? `${most}` : `${least} to ${most}`, String(alike.length), String(right)]
  })
  return [['decided by', 'confidence shown', 'how many', 'right'], ...rows]
}

export function serverRows(all: readonly JudgedServer[]): Rows {
  const heading = ['server', 'it is', '1', '2', '3', 'combined', 'decided by', '1', '2', '3', 'combined']
  const rows = all.map(({ configuration: { name, truth }, judgements }) => {
    const { sequential, capabilities, metadata, combined } = judgements
    const four = [sequential, capabilities, metadata, combined]
    return [name, truth, ...four.map(({ state }) => state), combined.by, ...four.map(({ ms }) => `${ms} ms`)]
  })
  return [heading, ...rows]
}

function pairsOf(all: readonly JudgedServer[], approach: Approach): readonly Pair[] {
  return all.map(({ configuration: { truth }, judgements }) => ({ truth, state: judgements[approach].state }))
}

/** The accuracy that the method's description states. */
function statedOf(approach: Approach): string {
  return approach in METHODS ? percentOf(METHODS[approach as keyof typeof METHODS].accuracy, 1) : ''
}
