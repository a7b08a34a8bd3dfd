/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on what 491 servers from npm list
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 92 % of them.
 */
import type { SignalName } from './toolSignals.ts'

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const TOOLS_ACCURACY = 0.92

export const INTERCEPT = -3.05

export const WEIGHTS: Readonly<Record<SignalName, number>> = {
  pair: 0.41,
  page: 1.71,
  pageParameter: 0.72,
  sessionParameter: 0.8,
  job: 0.79,
  jobs: 0.93,
  bridge: 0.79,
  handle: 0.81,
  setter: 1.65,
  current: 1.05,
  callFirst: 0.86,
  session: 0.7,
  history: 0.12,
  reset: 0.21,
  background: 1.86,
  inProcess: 0.81,
  begins: 1.06,
  live: 1.36,
  connect: 2.57,
  access: 3.09,
  login: 1.16,
  debug: 0.71,
  game: 0.71,
  toggled: 0.62,
  loaded: -0.14,
  unnamed: 1.24,
  thoughts: 3.42,
  inMemory: 1.36,
  choice: 1.05,
  status: 0.76,
  running: 1,
  counted: 0.65,
  command: 0.56,
  toggle: 0.79,
  plain: -0.89,
  search: -0.66,
  record: -0.83,
  paging: -0.74,
  file: -0.08,
  readOnly: -0.39,
  resources: 0.59,
}

/** From this probability on the process is said to keep something. */
export const THRESHOLD = 0.35

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export const CALIBRATION: readonly { readonly below: number; readonly right: number }[] = [
  { below: 0.05, right: 0.97 },
  { below: 0.15, right: 0.92 },
  { below: 0.35, right: 0.82 },
  { below: 0.8, right: 0.7 },
  { below: 1.01, right: 0.89 },
]
