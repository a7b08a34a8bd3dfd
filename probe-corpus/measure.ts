/** How often the method "tools" is right for the recordings, and how often for each confidence that it shows. */
import { toolsResult } from '../src/probe/methods/tools.ts'
import { type Matrix, matrixOf, percentOf } from './confusionMatrix.ts'
import { readRecordings, type Recording } from './recordings.ts'

export interface Measured {
  readonly servers: number
  readonly right: number
  readonly matrix: Matrix
  /** One row for each confidence, the highest first. */
  readonly byConfidence: readonly { readonly confidence: number; readonly servers: number; readonly right: number }[]
  /** The names of those that it is wrong about. */
  readonly wrong: readonly string[]
}

export function measure(part: Recording['part']): Measured {
  const judged = readRecordings()
    .filter((recording) => recording.part === part)
    .map(({ name, truth, tools }) => {
      const { state, confidence } = toolsResult(tools)
      return { name, truth, state, confidence, isRight: state === truth }
    })
  const confidences = [...new Set(judged.map(({ confidence }) => confidence))].toSorted((one, other) => other - one)
  return {
    servers: judged.length,
    right: judged.filter(({ isRight }) => isRight).length,
    matrix: matrixOf(judged),
    byConfidence: confidences.map((confidence) => {
      const alike = judged.filter((one) => one.confidence === confidence)
      return { confidence, servers: alike.length, right: alike.filter(({ isRight }) => isRight).length }
    }),
    wrong: judged.filter(({ isRight }) => !isRight).map(({ name, truth }) => `${name} (${truth})`),
  }
}

/** For the documentation: a row for each confidence of both parts. */
export function calibrationRows(): readonly (readonly string[])[] {
  const rows = (['fit', 'aside'] as const).flatMap((part) =>
    measure(part).byConfidence.map(({ confidence, servers, right }) => [
      part === 'fit' ? 'that the weights were made from' : 'kept aside',
      percentOf(confidence, 1),
      String(servers),
      `${percentOf(right, servers)} (${right})`,
    ]),
  )
  return [['servers', 'confidence shown', 'how many', 'right'], ...rows]
}
