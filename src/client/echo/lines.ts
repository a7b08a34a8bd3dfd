/** `state` beside the parameters, on the lines of a child process. */
import type { LineSeam } from '../transports/child.ts'
import { declaredInText, EchoStates } from './states.ts'

/** A seam that can tell at a glance that lines are none of its business. */
export interface SwiftSeam extends LineSeam {
  passesIn(chunk: Buffer): boolean
  passesOut(text: string): boolean
}

const STATE = Buffer.from('"state"')
const BACKSLASH = 0x5c

/** For one child process. */
export function echoLines(): SwiftSeam {
  const states = new EchoStates()
  // Nobody puts a state on a request before it was declared; in the stateless revision nobody declares it.
  let isDeclared = false
  const passesOut = (text: string): boolean => states.isEmpty && !text.includes('"initialize"')
  return {
    passesIn: (chunk) => !isDeclared || (states.isEmpty && !chunk.includes(STATE) && !chunk.includes(BACKSLASH)),
    passesOut,
    incoming: (line) => (isDeclared ? states.incoming(line) : line),
    outgoing: (line) => {
      if (passesOut(line)) return line
      const declared = declaredInText(line)
      isDeclared ||= declared !== line
      const { text, settle } = states.outgoing(declared)
      settle()
      return text
    },
  }
}
