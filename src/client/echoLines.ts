/** `state` beside the parameters, on the lines of a child process. */
import type { LineSeam } from './childTransport.ts'
import { declaredInText, EchoStates } from './echoStates.ts'

/** For one child process. */
export function echoLines(): LineSeam {
  const states = new EchoStates()
  return {
    incoming: (line) => states.incoming(line),
    outgoing: (line) => {
      const { text, settle } = states.outgoing(declaredInText(line))
      settle()
      return text
    },
  }
}
