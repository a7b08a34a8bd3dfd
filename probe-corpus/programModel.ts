/** Fits the weights of the method "program", and how much it and the method "tools" count together. */
import { logOdds, toldOdds } from '../src/probe/methods/program/program.ts'
import { PROGRAM_SIGNALS, type ProgramSignalName } from '../src/probe/methods/program/signals.ts'
import { percentOf } from './confusionMatrix.ts'
import { crossValidate, type Example, fit } from './logisticRegression.ts'
import { readRecordings, type Recording } from './recordings.ts'
import {
  type CalibrationRow,
  calibrationOf,
  type CrossValidated,
  foldOf,
  frequencyOf,
  judgedBy,
  rounded,
  THRESHOLD,
} from './toolModel.ts'

/** What the weights are drawn towards: what one call leaves for another says most, and a cache says nothing. */
const PRIOR: Readonly<Partial<Record<ProgramSignalName, number>>> = {
  left: 2.5,
  chosen: 2.5,
  leftQuietly: 0.8,
  quiet: -0.2,
  browser: 1,
  terminal: 1,
  socket: 0.7,
  chat: 0.7,
  nothing: -1,
}
const PRIOR_OTHERS = 0.4
const PRIOR_INTERCEPT = -2
const PULL = 1.5
/** Intercept, tools, program. */
const TOGETHER_PRIOR = [0, 0.7, 0.9] as const
const TOGETHER_PULL = 2

const PRIORS: readonly number[] = [PRIOR_INTERCEPT, ...PROGRAM_SIGNALS.map((name) => PRIOR[name] ?? PRIOR_OTHERS)]

export interface FittedProgram {
  readonly servers: number
  readonly intercept: number
  readonly weights: Readonly<Record<ProgramSignalName, number>>
  readonly calibration: readonly CalibrationRow[]
  /** Intercept, tools, program. */
  readonly together: readonly number[]
  readonly togetherCalibration: readonly CalibrationRow[]
}

interface ProgramValidation {
  /** Those whose files can be read. */
  readonly recordings: readonly Recording[]
  readonly examples: readonly Example[]
  readonly probabilities: readonly number[]
  /**
   * Those of them that were probed before any weight or word was made from them. Cross-validation shows the tools better than
   * they are, because their words were chosen by people who had read these servers; so what tools said then is used.
   */
  readonly unseen: readonly Recording[]
  readonly pairs: readonly Example[]
  /** By both, from probabilities and weights that were fitted without the family of the server. */
  readonly together: readonly number[]
}

let validation: ProgramValidation | undefined

/** Made once: it takes seconds. */
function programValidation(): ProgramValidation {
  return (validation ??= validate())
}

function validate(): ProgramValidation {
  const recordings = readRecordings().filter(({ part, files }) => part === 'fit' && files !== undefined)
  const examples = recordings.map(exampleOf)
  const probabilities = crossValidate(examples, PRIORS, { pull: PULL, folds: recordings.map(foldOf) })
  const probed = recordings.flatMap((recording, at) => {
    const { live, truth } = recording
    if (live === undefined || live.decidedBy === 'metadata') return []
    const features = [1, toldOdds(live), logOdds(probabilities[at] ?? 0)]
    return [{ recording, pair: { features, isPositive: truth === 'STATEFUL' } }]
  })
  const unseen = probed.map(({ recording }) => recording)
  const pairs = probed.map(({ pair }) => pair)
  const together = crossValidate(pairs, TOGETHER_PRIOR, { pull: TOGETHER_PULL, folds: unseen.map(foldOf) })
  return { recordings, examples, probabilities, unseen, pairs, together }
}

function exampleOf({ files = {}, truth }: Recording): Example {
  return { features: [1, ...PROGRAM_SIGNALS.map((name) => files[name] ?? 0)], isPositive: truth === 'STATEFUL' }
}

export function fittedProgram(): FittedProgram {
  const { recordings, examples, probabilities, unseen, pairs, together } = programValidation()
  const [intercept = 0, ...weights] = fit(examples, PRIORS, PULL).map(rounded)
  return {
    servers: recordings.length,
    intercept,
    weights: Object.fromEntries(
      PROGRAM_SIGNALS.map((name, at) => [name, weights[at] ?? 0]),
    ) as FittedProgram['weights'],
    calibration: calibrationOf(recordings, probabilities),
    together: fit(pairs, TOGETHER_PRIOR, TOGETHER_PULL).map(rounded),
    togetherCalibration: calibrationOf(unseen, together),
  }
}

/**
 * The recordings of the part "fit" whose files can be read, each judged by weights that were fitted without its family; by both
 * methods those that had been probed before.
 */
export function crossValidatedPrograms(): Readonly<Record<'program' | 'together', readonly CrossValidated[]>> {
  const { recordings, probabilities, unseen, together } = programValidation()
  return { program: judgedBy(recordings, probabilities), together: judgedBy(unseen, together) }
}

/** The text of src/probe/methods/program/weights.ts. */
export function programWeightsFile(fitted: FittedProgram): string {
  const { servers, intercept, weights, calibration, together, togetherCalibration } = fitted
  const [base = 0, tools = 0, program = 0] = together
  const unseen = togetherCalibration.reduce((sum, row) => sum + row.servers, 0)
  return `/**
 * The weights of the signals, written by \`npm run probe:fit\`: a logistic regression on the files of ${servers} servers from npm
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for ${percentOf(rightOf(calibration), servers)} of them; combined with
 * the weights of tools, for ${percentOf(rightOf(togetherCalibration), unseen)} of the ${unseen} servers that those had not seen.
 */
import type { ProgramSignalName } from './signals.ts'

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export interface Calibration {
  readonly below: number
  readonly right: number
}

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const PROGRAM_ACCURACY = ${rounded(rightOf(calibration) / servers)}

export const PROGRAM_INTERCEPT = ${intercept}

export const PROGRAM_WEIGHTS: Readonly<Record<ProgramSignalName, number>> = {
${Object.entries(weights)
  .map(([name, weight]) => `  ${name}: ${weight},`)
  .join('\n')}
}

/** From this probability on the process is said to keep something. */
export const PROGRAM_THRESHOLD = ${THRESHOLD}

export const PROGRAM_CALIBRATION: readonly Calibration[] = [
${rowsOf(calibration, '  ')}
]

/** The weights of the log odds of tools and files in their combination. */
export const TOGETHER = {
  intercept: ${base},
  tools: ${tools},
  program: ${program},
  threshold: ${THRESHOLD},
  calibration: [
${rowsOf(togetherCalibration, '    ')}
  ] satisfies readonly Calibration[],
} as const
`
}

function rightOf(rows: readonly CalibrationRow[]): number {
  return rows.reduce((sum, { right }) => sum + right, 0)
}

function rowsOf(rows: readonly CalibrationRow[], indent: string): string {
  return rows.map((row) => `${indent}{ below: ${row.below}, right: ${frequencyOf(row)} },`).join('\n')
}
