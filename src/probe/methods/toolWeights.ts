/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on what 356 servers from npm list
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 92 % of them.
 */
import type { SignalName } from './toolSignals.ts'

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const TOOLS_ACCURACY = 0.92

export const INTERCEPT = -2.49

export const WEIGHTS: Readonly<Record<SignalName, number>> = {
  pair: 0.67,
  page: 2.2,
  pageParameter: 0.75,
  sessionParameter: 0.88,
  job: 0.75,
  jobs: 1.16,
  bridge: 0.73,
  handle: 0.85,
  setter: 1.65,
  current: 1.49,
  callFirst: 0.74,
  session: 0.75,
  history: 0.03,
  reset: 0.42,
  background: 1.77,
  inProcess: 1.03,
  begins: 0.75,
  live: 1.08,
  connect: 1.63,
  access: 2.93,
  login: 1.57,
  debug: 0.7,
  game: 0.59,
  toggled: 0.66,
  loaded: 0.11,
  unnamed: 1.69,
  thoughts: 3.44,
  toggle: 0.79,
  plain: -0.77,
  search: -0.71,
  record: -0.73,
  paging: -0.77,
  file: -0.27,
  readOnly: -0.55,
}

/** From this probability on the process is said to keep something. */
export const THRESHOLD = 0.45

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export const CALIBRATION: readonly { readonly below: number; readonly right: number }[] = [
  { below: 0.05, right: 0.98 },
  { below: 0.15, right: 0.94 },
  { below: 0.45, right: 0.7 },
  { below: 0.8, right: 0.69 },
  { below: 1.01, right: 0.91 },
]
