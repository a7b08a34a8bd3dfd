/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on what 264 servers from npm list
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 94 % of them.
 */
import type { SignalName } from './toolSignals.ts'

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const TOOLS_ACCURACY = 0.94

export const INTERCEPT = -2.48

export const WEIGHTS: Readonly<Record<SignalName, number>> = {
  pair: 0.46,
  page: 2.1,
  pageParameter: 0.83,
  sessionParameter: 0.97,
  job: 0.57,
  handle: 0.8,
  setter: 1.43,
  current: 1.4,
  callFirst: 0.63,
  session: 0.73,
  history: 0.29,
  reset: 0.56,
  background: 1.72,
  inProcess: 0.97,
  begins: 0.78,
  live: 1.07,
  connect: 1.63,
  access: 2.98,
  login: 1.51,
  debug: 0.7,
  game: 0.47,
  toggled: 0.68,
  loaded: 0.32,
  unnamed: 1.64,
  thoughts: 3.68,
  toggle: 0.81,
  plain: -0.84,
  search: -0.69,
  record: -0.69,
  paging: -0.88,
  file: -0.55,
  readOnly: -0.4,
}

/** From this probability on the process is said to keep something. */
export const THRESHOLD = 0.45

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export const CALIBRATION: readonly { readonly below: number; readonly right: number }[] = [
  { below: 0.05, right: 0.98 },
  { below: 0.15, right: 0.95 },
  { below: 0.45, right: 0.72 },
  { below: 0.8, right: 0.8 },
  { below: 1.01, right: 0.92 },
]
