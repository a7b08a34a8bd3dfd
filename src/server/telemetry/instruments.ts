import type { Counter, Histogram, Meter } from '@opentelemetry/api'

/** The metrics. The semantic conventions for MCP name the duration, and none of the others. */
export interface Instruments {
  readonly duration: Histogram
  readonly requests: Counter
  /** Rounds that ended with a question. */
  readonly rounds: Counter
  readonly refusedAnswers: Counter
  /** Attempts to notify people of a question. */
  readonly notices: Counter
}

const BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

export function createInstruments(meter: Meter): Instruments {
  return {
    duration: meter.createHistogram('mcp.server.operation.duration', {
      description: 'From the arrival of a request to its answer',
      unit: 's',
      advice: { explicitBucketBoundaries: BOUNDARIES },
    }),
    requests: meter.createCounter('pannier.server.requests', { description: 'Requests answered', unit: '{request}' }),
    rounds: meter.createCounter('pannier.server.rounds.asked', {
      description: 'Rounds that ended with a question to the client',
      unit: '{round}',
    }),
    refusedAnswers: meter.createCounter('pannier.server.answers.refused', {
      description: 'Answers that did not fit their questions',
      unit: '{answer}',
    }),
    notices: meter.createCounter('pannier.server.notices', {
      description: 'Attempts to notify people of a question',
      unit: '{notice}',
    }),
  }
}
