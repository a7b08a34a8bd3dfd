/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on the files of 457 servers from npm
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 90 % of them; together with
 * what tools said of 178 of them that they had not been made from, for 92 %.
 */
import type { ProgramSignalName } from './signals.ts'

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export interface Calibration {
  readonly below: number
  readonly right: number
}

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const PROGRAM_ACCURACY = 0.9

export const PROGRAM_INTERCEPT = -1.3

export const PROGRAM_WEIGHTS: Readonly<Record<ProgramSignalName, number>> = {
  left: 2.11,
  chosen: 1.29,
  leftQuietly: 0.13,
  saved: -0.4,
  appended: 1.48,
  filled: 0.47,
  set: -0.24,
  first: -0.08,
  counted: 0.92,
  quiet: -0.99,
  emptied: 0.72,
  event: 0.21,
  environment: 0.76,
  browser: 0.97,
  terminal: 0.89,
  socket: 1.69,
  chat: 1.87,
  nothing: -2.54,
}

/** From this probability on the process is said to keep something. */
export const PROGRAM_THRESHOLD = 0.35

export const PROGRAM_CALIBRATION: readonly Calibration[] = [
  { below: 0.05, right: 0.99 },
  { below: 0.15, right: 0.86 },
  { below: 0.35, right: 0.67 },
  { below: 0.8, right: 0.63 },
  { below: 1.01, right: 0.83 },
]

/** What tools and files say together: how much the log odds of each count. */
export const TOGETHER = {
  intercept: -0.1,
  tools: 0.44,
  program: 0.75,
  threshold: 0.35,
  calibration: [
    { below: 0.05, right: 0.99 },
    { below: 0.15, right: 0.82 },
    { below: 0.35, right: 0.73 },
    { below: 0.8, right: 0.67 },
    { below: 1.01, right: 0.8 },
  ] satisfies readonly Calibration[],
} as const
