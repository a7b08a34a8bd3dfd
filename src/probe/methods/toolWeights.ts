/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on what 178 servers from npm list
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 92 % of them.
 */
import type { SignalName } from './toolSignals.ts'

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const TOOLS_ACCURACY = 0.92

export const INTERCEPT = -1.83

export const WEIGHTS: Readonly<Record<SignalName, number>> = {
  pair: 0.99,
  page: 2.94,
  sessionParameter: 0.98,
  handle: 0.75,
  setter: 1.73,
  current: 1.74,
  callFirst: 0.59,
  session: 0.99,
  history: 0.84,
  reset: 0.8,
  background: 1.39,
  inProcess: 1.21,
  begins: 1.06,
  live: 1.12,
  connect: 2.32,
  login: 0.85,
  debug: 1.5,
  game: 1.06,
  toggled: 0.61,
  loaded: 0.19,
  plain: -1.18,
  readOnly: -0.66,
  thoughts: 3.07,
  toggle: 1.51,
}

/** From this probability on the process is said to keep something. */
export const THRESHOLD = 0.35

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export const CALIBRATION: readonly { readonly below: number; readonly right: number }[] = [
  { below: 0.1, right: 0.98 },
  { below: 0.2, right: 0.9 },
  { below: 0.35, right: 0.69 },
  { below: 0.6, right: 0.73 },
  { below: 1.01, right: 0.85 },
]
