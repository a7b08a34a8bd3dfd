/** `state` beside the parameters, on the lines of a child process. */
import type { LineSeam } from './childTransport.ts'
import { declaredInText, EchoStates } from './echoStates.ts'

/** A seam that can tell by its bytes that a chunk of lines is none of its business. */
export interface SwiftSeam extends LineSeam {
  passes(chunk: Buffer): boolean
}

/** For one child process. */
export function echoLines(): SwiftSeam {
  const states = new EchoStates()
  return {
    passes: (chunk) => states.isEmpty && !chunk.includes('"state"') && !chunk.includes('\\u'),
    incoming: (line) => states.incoming(line),
    outgoing: (line) => {
      const { text, settle } = states.outgoing(declaredInText(line))
      settle()
      return text
    },
  }
}
