/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on what 405 servers from npm list
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 94 % of them.
 */
import type { SignalName } from './toolSignals.ts'

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const TOOLS_ACCURACY = 0.94

export const INTERCEPT = -3.15

export const WEIGHTS: Readonly<Record<SignalName, number>> = {
  pair: 0.68,
  page: 1.96,
  pageParameter: 0.71,
  sessionParameter: 0.94,
  job: 0.56,
  jobs: 1.07,
  bridge: 0.71,
  handle: 0.82,
  setter: 1.51,
  current: 1.13,
  callFirst: 0.88,
  session: 0.75,
  history: -0.03,
  reset: 0.3,
  background: 1.91,
  inProcess: 0.83,
  begins: 1.18,
  live: 1.57,
  connect: 2.56,
  access: 2.93,
  login: 1.51,
  debug: 0.7,
  game: 0.41,
  toggled: 0.73,
  loaded: -0.12,
  unnamed: 1.37,
  thoughts: 3.58,
  inMemory: 1.51,
  choice: 1.53,
  status: 0.87,
  running: 0.85,
  counted: 0.74,
  command: 0.49,
  toggle: 0.83,
  plain: -0.98,
  search: -0.67,
  record: -0.77,
  paging: -0.69,
  file: -0.29,
  readOnly: -0.61,
  resources: 0.79,
}

/** From this probability on the process is said to keep something. */
export const THRESHOLD = 0.35

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export const CALIBRATION: readonly { readonly below: number; readonly right: number }[] = [
  { below: 0.05, right: 0.98 },
  { below: 0.15, right: 0.93 },
  { below: 0.35, right: 0.81 },
  { below: 0.8, right: 0.72 },
  { below: 1.01, right: 0.91 },
]
