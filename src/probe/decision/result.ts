import { type Level, levelOf, type Method, type State } from '../methods/result.ts'
import { errorTextOf, replyText, isUnauthorized } from '../wire/reply.ts'
import { type Findings, methodsOf } from './findings.ts'

/** The deciding method or rule. */
export type DecidedBy = Method | 'era' | 'transport' | 'control' | 'declaration' | 'witness' | 'nothing'

export interface Decision {
  /** Whether the server needs its sessions. */
  readonly state: State
  /** The reason, as a sentence. */
  readonly message: string
  /** From 0 to 1. */
  readonly confidence: number
  /** The confidence in a word. */
  readonly level: Level
  /** The method or rule that decided. */
  readonly decidedBy: DecidedBy
  /** The figures behind the message. */
  readonly details: Readonly<Record<string, unknown>>
}

/**
 * One of the two things that a verdict combines. Of the protocol, STATEFUL means that it needs a session; of the process,
 * that it seems to keep something between calls.
 */
export interface ProbeFinding extends Omit<Decision, 'details'> {
  /** The evidence, as sentences. */
  readonly because: readonly string[]
}

export function decision(
  state: State,
  decidedBy: DecidedBy,
  confidence: number,
  message: string,
  details: Decision['details'] = {},
): Decision {
  return { state, message, confidence, level: levelOf(confidence), decidedBy, details }
}

/** Why nothing is decided: a sentence that names the obstacle. */
export function whyUnknown(findings: Findings, methods?: readonly Method[]): string {
  const { era: found, initialize } = findings
  if (methods?.length === 1 && methods[0] === 'program') {
    return methodsOf(findings).program?.message ?? 'Its program is no JavaScript file on this machine.'
  }
  if (initialize === undefined) {
    return found === undefined ? findings.metadata.message : `Nothing can be known: it ${replyText(found.reply)}.`
  }
  if (isUnauthorized(initialize)) {
    const { status } = initialize.http ?? {}
    const complaint = errorTextOf(initialize).trim()
    // The cause may be something else than credentials, such as a Host header that the server refuses.
    const words = complaint === '' ? '' : ` It says: "${complaint}".`
    return `It refuses requests without the right credentials (HTTP ${status}), so nothing can be known about its sessions.${words}`
  }
  const { sequential: tested, capabilities: score } = methodsOf(findings)
  const isScoreAlone = methods?.length === 1 && methods[0] === 'capabilities'
  if (isScoreAlone && score !== undefined) return `${score.message} The score is never used alone.`
  return tested?.message ?? 'Nothing was found out.'
}
