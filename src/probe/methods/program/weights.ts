/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on the files of 457 servers from npm
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 89 % of them; together with
 * what tools said of 178 of them that they had not been made from, for 92 %.
 */
import type { ProgramSignalName } from './signals.ts'

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export interface Calibration {
  readonly below: number
  readonly right: number
}

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const PROGRAM_ACCURACY = 0.89

export const PROGRAM_INTERCEPT = -1.27

export const PROGRAM_WEIGHTS: Readonly<Record<ProgramSignalName, number>> = {
  left: 2.08,
  chosen: 1.15,
  leftQuietly: 0.17,
  saved: -0.39,
  appended: 1.18,
  filled: 0.58,
  set: -0.35,
  first: -0.15,
  acted: 1.23,
  counted: 0.76,
  quiet: -0.94,
  emptied: 0.64,
  event: 0.52,
  environment: 0.71,
  browser: 0.84,
  terminal: 0.91,
  socket: 1.74,
  chat: 1.87,
  nothing: -2.56,
}

/** From this probability on the process is said to keep something. */
export const PROGRAM_THRESHOLD = 0.35

export const PROGRAM_CALIBRATION: readonly Calibration[] = [
  { below: 0.05, right: 0.99 },
  { below: 0.15, right: 0.84 },
  { below: 0.35, right: 0.63 },
  { below: 0.8, right: 0.63 },
  { below: 1.01, right: 0.82 },
]

/** What tools and files say together: how much the log odds of each count. */
export const TOGETHER = {
  intercept: -0.08,
  tools: 0.43,
  program: 0.73,
  threshold: 0.35,
  calibration: [
    { below: 0.05, right: 0.99 },
    { below: 0.15, right: 0.8 },
    { below: 0.35, right: 0.78 },
    { below: 0.8, right: 0.71 },
    { below: 1.01, right: 0.8 },
  ] satisfies readonly Calibration[],
} as const
