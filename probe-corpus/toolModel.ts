/** Fits the weights of the method "tools", and measures how often it is right. */
import { createHash } from 'node:crypto'
import { SIGNAL_NAMES as NAMES, signalsIn, type SignalName } from '../src/probe/methods/toolSignals.ts'
import { percentOf } from './confusionMatrix.ts'
import { crossValidate, type Example, fit } from './logisticRegression.ts'
import { MAX_CONFIDENCE } from '../src/probe/methods/tools.ts'
import type { Truth } from './configuration.ts'
import { readRecordings, type Recording } from './recordings.ts'

/** What the weights are drawn towards, from reading servers: what keeps something, and what lies elsewhere. */
const PRIOR: Readonly<Partial<Record<SignalName, number>>> = {
  thoughts: 3.5,
  access: 2.5,
  connect: 2.5,
  live: 1.5,
  background: 2,
  current: 1.3,
  page: 2.5,
  unnamed: 1.3,
  setter: 1.2,
  inMemory: 1.5,
  choice: 1.2,
  running: 1,
  status: 0.4,
  resources: 0.4,
  command: 0.2,
  plain: -0.6,
  record: -0.6,
}
const PRIOR_OTHERS = 0.7
const PRIOR_INTERCEPT = -2.5
const PULL = 3
const FOLDS = 20
/** From here on a server is called STATEFUL: chosen by cross-validation. */
export const THRESHOLD = 0.35
/** The upper ends of the ranges of probability for which the frequency is measured. */
const RANGES = [0.05, 0.15, THRESHOLD, 0.8, 1.01] as const

const PRIORS: readonly number[] = [PRIOR_INTERCEPT, ...NAMES.map((name) => PRIOR[name] ?? PRIOR_OTHERS)]

export interface CalibrationRow {
  /** Probabilities below this, and not below that of the row before. */
  readonly below: number
  readonly servers: number
  readonly right: number
}

export interface FittedModel {
  readonly intercept: number
  readonly weights: Readonly<Record<SignalName, number>>
  readonly servers: number
  /** By cross-validation: each server is judged by weights that were fitted without it. */
  readonly calibration: readonly CalibrationRow[]
}

export function fitted(): FittedModel {
  const { recordings, examples, probabilities } = crossValidation()
  const [intercept = 0, ...weights] = fit(examples, PRIORS, PULL).map(rounded)
  return {
    intercept,
    weights: Object.fromEntries(NAMES.map((name, at) => [name, weights[at] ?? 0])) as Record<SignalName, number>,
    servers: examples.length,
    calibration: calibrationOf(recordings, probabilities),
  }
}

interface CrossValidation {
  readonly recordings: readonly Recording[]
  readonly examples: readonly Example[]
  /** For each recording, by weights that were fitted without its family. */
  readonly probabilities: readonly number[]
}

let validation: CrossValidation | undefined

/** Made once: it takes seconds. */
function crossValidation(): CrossValidation {
  return (validation ??= validate())
}

function validate(): CrossValidation {
  const recordings = readRecordings().filter(({ part }) => part === 'fit')
  const examples = recordings.map(exampleOf)
  const probabilities = crossValidate(examples, PRIORS, { pull: PULL, folds: recordings.map(foldOf) })
  return { recordings, examples, probabilities }
}

export interface CrossValidated {
  readonly recording: Recording
  readonly state: Truth
  readonly confidence: number
}

/** The recordings of the part "fit", each judged by weights that were fitted without its family. */
export function crossValidated(): readonly CrossValidated[] {
  const { recordings, probabilities } = crossValidation()
  return judgedBy(recordings, probabilities)
}

export function judgedBy(
  recordings: readonly Recording[],
  probabilities: readonly number[],
): readonly CrossValidated[] {
  const rows = calibrationOf(recordings, probabilities)
  return recordings.map((recording, at) => {
    const probability = probabilities[at] ?? 0
    const row = rows.find(({ below }) => probability < below)
    const state = probability >= THRESHOLD ? 'STATEFUL' : 'STATELESS'
    return { recording, state, confidence: row === undefined ? 0 : Math.min(frequencyOf(row), MAX_CONFIDENCE) }
  })
}

/** How often a judgement by these probabilities is right, for each range of them. */
export function calibrationOf(
  recordings: readonly Recording[],
  probabilities: readonly number[],
): readonly CalibrationRow[] {
  return RANGES.map((below, at) => {
    const from = RANGES[at - 1] ?? 0
    const inside = recordings.filter((_, index) => isBetween(probabilities[index] ?? 0, from, below))
    const isKeeping = below > THRESHOLD
    const right = inside.filter(({ truth }) => (truth === 'STATEFUL') === isKeeping).length
    return { below, servers: inside.length, right }
  })
}

function isBetween(value: number, from: number, below: number): boolean {
  return value >= from && value < below
}

function exampleOf({ tools, capabilities, truth }: Recording): Example {
  const found = signalsIn(tools, capabilities)
  const strengths = NAMES.map((name) => found.find((signal) => signal.name === name)?.strength ?? 0)
  return { features: [1, ...strengths], isPositive: truth === 'STATEFUL' }
}

/** Packages of one family are judged by weights that none of them had a part in. The fold is a hash of the family. */
export function foldOf({ name }: Recording): number {
  const digest = createHash('sha256').update(familyOf(name)).digest()
  return digest.readUInt32BE(0) % FOLDS
}

/** The scope of a package; else what its name is about: "mcp-server-discord" and "mcp-discord" are alike. */
export function familyOf(name: string): string {
  if (name.startsWith('@')) return name.replace(/\/.*/, '')
  return name.replace(/-?\b(mcp|server|js|ts)\b-?/g, '-').replace(/^-+|-+$/g, '')
}

export function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

/** Laplace's rule: a frequency of few servers is never certain. */
export function frequencyOf({ servers, right }: CalibrationRow): number {
  return rounded((right + 1) / (servers + 2))
}

/** The text of src/probe/methods/toolWeights.ts. */
export function weightsFile({ intercept, weights, servers, calibration }: FittedModel): string {
  const right = calibration.reduce((sum, row) => sum + row.right, 0)
  return `/**
 * The weights of the signals, written by \`npm run probe:fit\`: a logistic regression on what ${servers} servers from npm list
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for ${percentOf(right, servers)} of them.
 */
import type { SignalName } from './toolSignals.ts'

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const TOOLS_ACCURACY = ${rounded(right / servers)}

export const INTERCEPT = ${intercept}

export const WEIGHTS: Readonly<Record<SignalName, number>> = {
${Object.entries(weights)
  .map(([name, weight]) => `  ${name}: ${weight},`)
  .join('\n')}
}

/** From this probability on the process is said to keep something. */
export const THRESHOLD = ${THRESHOLD}

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export const CALIBRATION: readonly { readonly below: number; readonly right: number }[] = [
${calibration.map((row) => `  { below: ${row.below}, right: ${frequencyOf(row)} },`).join('\n')}
]
`
}
