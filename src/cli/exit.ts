/** How the program ends. Scripts rely on these numbers, so none of them ever changes its meaning. */
export const EXIT = {
  ok: 0,
  toolError: 1,
  badInput: 2,
  noConnection: 3,
  protocolError: 4,
  declined: 5,
  suspended: 6,
  timedOut: 7,
  interrupted: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** For the help of every command that talks to a server. */
export const EXIT_HELP = `

Exit codes:
  0    done
  1    the tool ran and says that it failed (isError)
  2    the command line, a file or a variable cannot be used
  3    there is no connection: unreachable, silent, not started, lost, or not authorized
  4    the server answered with an error, or not by the protocol
  5    a question was declined or cancelled, and the call failed
  6    suspended: continue with "pannier resume FILE"
  7    the server was silent for --timeout seconds in a call
  130  interrupted with Ctrl-C; the request was cancelled on the server
  143  terminated; the request was cancelled, too`
