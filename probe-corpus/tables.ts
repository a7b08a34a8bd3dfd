/** The results of a run as rows of cells, for the terminal and for the documentation. */
import { METHODS } from 'pannier/probe'
import { type Judged, type Way, WAYS } from './judge.ts'
import { accuracyOf, matrixOf, medianOf, type Pair, percentOf, SAID, TRUTHS } from './confusionMatrix.ts'

type Rows = readonly (readonly string[])[]

const TITLES: Readonly<Record<Way, string>> = {
  sequential: `method 1, ${METHODS.sequential.title}`,
  capabilities: `method 2, ${METHODS.capabilities.title}`,
  metadata: `method 3, ${METHODS.metadata.title}`,
  combined: 'the combination',
  nameless: 'the combination, no server known by name',
}

/** A row for each kind of server and each way of judging. */
export function matrixRows(all: readonly Judged[]): Rows {
  const rows = WAYS.flatMap((way) => {
    const matrix = matrixOf(pairsOf(all, way))
    return TRUTHS.map((truth) => [TITLES[way], truth, ...SAID.map((state) => String(matrix[truth][state]))])
  })
  return [['judged by', 'it is', ...SAID.map((state) => `said ${state}`)], ...rows]
}

export function accuracyRows(all: readonly Judged[]): Rows {
  const rows = WAYS.map((way) => {
    const { all: servers, decided, right } = accuracyOf(matrixOf(pairsOf(all, way)))
    const times = all.map(({ said }) => said[way].ms)
    return [
      TITLES[way],
      statedOf(way),
      `${percentOf(right, servers)} (${right} of ${servers})`,
      `${percentOf(right, decided)} (${right} of ${decided})`,
      `${Math.round(medianOf(times))} ms`,
      `${Math.max(...times)} ms`,
    ]
  })
  const heading = ['judged by', 'stated', 'right', 'right where it says something', 'median time', 'longest']
  return [heading, ...rows]
}

export function serverRows(all: readonly Judged[]): Rows {
  const heading = ['server', 'it is', '1', '2', '3', 'combined', 'decided by', '1', '2', '3', 'combined']
  const rows = all.map(({ configuration: { name, truth }, said }) => {
    const { sequential, capabilities, metadata, combined } = said
    const four = [sequential, capabilities, metadata, combined]
    return [name, truth, ...four.map(({ state }) => state), combined.by, ...four.map(({ ms }) => `${ms} ms`)]
  })
  return [heading, ...rows]
}

function pairsOf(all: readonly Judged[], way: Way): readonly Pair[] {
  return all.map(({ configuration: { truth }, said }) => ({ truth, state: said[way].state }))
}

/** What the methods are said to reach. */
function statedOf(way: Way): string {
  return way in METHODS ? percentOf(METHODS[way as keyof typeof METHODS].accuracy, 1) : ''
}
