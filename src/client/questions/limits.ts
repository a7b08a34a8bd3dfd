/** The limits on what a server may ask, the same for calls that take several rounds and for tasks. */
import { utf8Length } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'

/**
 * How many questions may be open at once: in one result, in one task, or pushed over one connection. People, and models
 * that cost money, should not be asked more.
 */
export const MAX_QUESTIONS = 100

/** A larger state does not fit into the requests that servers accept: 4 MB with the official SDK, and with ours. */
export const MAX_STATE_BYTES = 4 * 1024 * 1024

/**
 * The default of `maxRounds`: how often a call or a task may ask. A question that is answered wrongly is asked up to
 * five times, and a tool may ask about each item of a list, so a call of ten questions is an ordinary one.
 */
export const DEFAULT_MAX_ROUNDS = 100

export function tooManyQuestions(count: number): ClientError {
  return tooMuchInput(`${count} answers at once; at most ${MAX_QUESTIONS} are given`)
}

export function assertStateSize(state: string, maxBytes: number): void {
  // A UTF-16 unit has at most three bytes in UTF-8, so the bytes of most states need not be counted.
  const bytes = state.length * 3 <= maxBytes ? 0 : utf8Length(state)
  if (bytes <= maxBytes) return
  throw tooMuchInput(
    `a state of ${bytes} bytes, and "maxStateBytes" is ${maxBytes}; raise it if that is what you expect`,
  )
}

export function assertRoundLimit(rounds: number, maxRounds: number, asker: 'server' | 'task'): void {
  if (rounds <= maxRounds) return
  const sentence = `The ${asker} still asks after ${maxRounds} rounds; raise "maxRounds" if that is what you expect.`
  throw new ClientError('ROUNDS_ENDLESS', sentence)
}

function tooMuchInput(what: string): ClientError {
  return new ClientError('INPUT_TOO_LARGE', `The server asked for too much: ${what}.`)
}
