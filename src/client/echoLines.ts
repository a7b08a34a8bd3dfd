/** `state` beside the parameters, on the lines of a child process. */
import type { LineSeam } from './childTransport.ts'
import { declaredInText, EchoStates } from './echoStates.ts'

/** A seam that can tell at a glance that lines are none of its business. */
export interface SwiftSeam extends LineSeam {
  passesIn(chunk: Buffer): boolean
  passesOut(text: string): boolean
}

const STATE = Buffer.from('"state"')
const ESCAPE = Buffer.from('\\u')

/** For one child process. */
export function echoLines(): SwiftSeam {
  const states = new EchoStates()
  return {
    passesIn: (chunk) => states.isEmpty && !chunk.includes(STATE) && !chunk.includes(ESCAPE),
    passesOut: (text) => states.isEmpty && !text.includes('"initialize"'),
    incoming: (line) => states.incoming(line),
    outgoing: (line) => {
      const { text, settle } = states.outgoing(declaredInText(line))
      settle()
      return text
    },
  }
}
