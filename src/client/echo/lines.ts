/** `state` beside the parameters, on the lines of a child process. */
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { LayerHandlers } from '../layer/layer.ts'
import type { LineFilter } from '../transports/child.ts'
import { lineReader } from '../transports/lineReader.ts'
import { declaredInText, EchoStates } from './states.ts'

/** A seam that can tell at a glance that lines are none of its business. */
interface ScreeningLineFilter extends LineFilter {
  passesIn(chunk: Buffer): boolean
  passesOut(text: string): boolean
}

const STATE = Buffer.from('"state"')
const BACKSLASH = 0x5c

/** For one child process. */
export function echoLines(): ScreeningLineFilter {
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

/**
 * The lines of the child process that a transport starts, seen and changed. The SDK's transports offer no seam there; but
 * Node says which process was started while `start` ran, and the process has its pipes.
 */

const NEWLINE = 0x0a

/** How to start such a transport. A seam is made for each start, because each has a process of its own. */
export function childLines(seam: () => ScreeningLineFilter): NonNullable<LayerHandlers['start']> {
  return (start) => startWith(start, seam)
}

function startWith(start: () => Promise<void>, seam: () => ScreeningLineFilter): Promise<void> {
  let child: ChildProcess | undefined
  const onSpawn = (message: unknown): void => {
    child ??= (message as { process: ChildProcess }).process
  }
  subscribe('child_process', onSpawn)
  try {
    return start()
  } finally {
    unsubscribe('child_process', onSpawn)
    if (child !== undefined) seamIn(child, seam())
  }
}

function seamIn({ stdin, stdout }: ChildProcess, seam: ScreeningLineFilter): void {
  if (stdin === null || stdout === null) return
  const write = stdin.write.bind(stdin) as (chunk: unknown, ...rest: unknown[]) => boolean
  const writeLine = (chunk: unknown, ...rest: unknown[]): boolean =>
    write(typeof chunk === 'string' && !seam.passesOut(chunk) ? `${seam.outgoing(chunk.trimEnd())}\n` : chunk, ...rest)
  stdin.write = writeLine as typeof stdin.write
  const readers = stdout.listeners('data')
  const read = (chunk: Buffer): void => {
    for (const reader of readers) reader.call(stdout, chunk)
  }
  const readLines = lineReader((line) => read(Buffer.from(`${seam.incoming(line)}\n`)))
  let isAtStart = true
  stdout.removeAllListeners('data')
  stdout.on('data', (chunk: Buffer) => {
    const isWhole = isAtStart && chunk.at(-1) === NEWLINE
    isAtStart = chunk.at(-1) === NEWLINE
    if (isWhole && seam.passesIn(chunk)) read(chunk)
    else readLines(chunk)
  })
}
