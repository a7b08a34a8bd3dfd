/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on what 458 servers from npm list
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 94 % of them.
 */
import type { SignalName } from './toolSignals.ts'

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const TOOLS_ACCURACY = 0.94

export const INTERCEPT = -3.06

export const WEIGHTS: Readonly<Record<SignalName, number>> = {
  pair: 0.47,
  page: 1.78,
  pageParameter: 0.71,
  sessionParameter: 0.87,
  job: 0.69,
  jobs: 0.98,
  bridge: 0.69,
  handle: 0.84,
  setter: 1.74,
  current: 1.04,
  callFirst: 0.82,
  session: 0.71,
  history: 0,
  reset: 0.21,
  background: 1.89,
  inProcess: 0.86,
  begins: 0.99,
  live: 1.58,
  connect: 2.56,
  access: 3.09,
  login: 1.34,
  debug: 0.71,
  game: 0.47,
  toggled: 0.76,
  loaded: -0.05,
  unnamed: 1.43,
  thoughts: 3.45,
  inMemory: 1.51,
  choice: 1.31,
  status: 0.73,
  running: 0.91,
  counted: 0.72,
  command: 0.46,
  toggle: 0.86,
  plain: -1.03,
  search: -0.65,
  record: -0.78,
  paging: -0.69,
  file: -0.31,
  readOnly: -0.57,
  resources: 0.69,
}

/** From this probability on the process is said to keep something. */
export const THRESHOLD = 0.35

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export const CALIBRATION: readonly { readonly below: number; readonly right: number }[] = [
  { below: 0.05, right: 0.98 },
  { below: 0.15, right: 0.91 },
  { below: 0.35, right: 0.83 },
  { below: 0.8, right: 0.76 },
  { below: 1.01, right: 0.89 },
]
