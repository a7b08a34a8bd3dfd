/**
 * The weights of the signals, written by `npm run probe:fit`: a logistic regression on the files of 457 servers from npm
 * (probe-corpus/recordings.json, the part "fit"). By cross-validation it is right for 91 % of them; combined with
 * the weights of tools, for 91 % of the 178 servers that those had not seen.
 */
import type { ProgramSignalName } from './signals.ts'

/** How often a judgement was right, by its probability, for servers that the weights had not seen. */
export interface Calibration {
  readonly below: number
  readonly right: number
}

/** How often the method was right for servers that the weights had not seen, by cross-validation. */
export const PROGRAM_ACCURACY = 0.91

export const PROGRAM_INTERCEPT = -1.3

export const PROGRAM_WEIGHTS: Readonly<Record<ProgramSignalName, number>> = {
  left: 2.64,
  chosen: 1.52,
  leftQuietly: 0.38,
  filled: 0.87,
  quiet: -0.84,
  browser: 0.84,
  terminal: 1.17,
  socket: 1.7,
  chat: 1.82,
  nothing: -2.2,
}

/** From this probability on the process is said to keep something. */
export const PROGRAM_THRESHOLD = 0.35

export const PROGRAM_CALIBRATION: readonly Calibration[] = [
  { below: 0.05, right: 0.98 },
  { below: 0.15, right: 0.94 },
  { below: 0.35, right: 0.71 },
  { below: 0.8, right: 0.74 },
  { below: 1.01, right: 0.84 },
]

/** The weights of the log odds of tools and files in their combination. */
export const TOGETHER = {
  intercept: -0.11,
  tools: 0.49,
  program: 0.75,
  threshold: 0.35,
  calibration: [
    { below: 0.05, right: 0.98 },
    { below: 0.15, right: 0.87 },
    { below: 0.35, right: 0.69 },
    { below: 0.8, right: 0.67 },
    { below: 1.01, right: 0.79 },
  ] satisfies readonly Calibration[],
} as const
