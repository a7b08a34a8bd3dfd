/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on what 491 servers from npm list
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 92 % of them.
 */
import type { SignalName } from './toolSignals.ts'

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const TOOLS_ACCURACY = 0.92

export const INTERCEPT = -3.01

export const WEIGHTS: Readonly<Record<SignalName, number>> = {
  page: 1.69,
  pageParameter: 0.67,
  sessionParameter: 0.83,
  job: 0.88,
  jobs: 0.95,
  setter: 1.64,
  current: 1.2,
  background: 1.91,
  inProcess: 0.89,
  live: 1.32,
  connect: 2.57,
  access: 3.21,
  game: 0.75,
  unnamed: 1.3,
  thoughts: 3.41,
  inMemory: 1.33,
  choice: 1.12,
  status: 0.89,
  running: 1.18,
  command: 0.66,
  toggle: 0.8,
  plain: -0.89,
  record: -0.76,
  resources: 0.58,
}

/** From this probability on the process is said to keep something. */
export const THRESHOLD = 0.35

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export const CALIBRATION: readonly { readonly below: number; readonly right: number }[] = [
  { below: 0.05, right: 0.98 },
  { below: 0.15, right: 0.92 },
  { below: 0.35, right: 0.8 },
  { below: 0.8, right: 0.67 },
  { below: 1.01, right: 0.92 },
]
