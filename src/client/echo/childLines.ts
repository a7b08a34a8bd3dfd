/**
 * The lines of the child process that a transport starts, seen and changed. The SDK's transports offer no seam there; but
 * Node says which process was started while `start` ran, and the process has its pipes.
 */
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { LayerHandlers } from '../layer/layer.ts'
import type { SwiftSeam } from './lines.ts'
import { lineReader } from '../transports/lineReader.ts'

const NEWLINE = 0x0a

/** As the SDK does: a transport with a process has these two. */
export function hasChild(transport: object): boolean {
  return 'pid' in transport && 'stderr' in transport
}

/** How to start such a transport. A seam is made for each start, because each has a process of its own. */
export function childLines(seam: () => SwiftSeam): NonNullable<LayerHandlers['start']> {
  return (start) => startWith(start, seam)
}

function startWith(start: () => Promise<void>, seam: () => SwiftSeam): Promise<void> {
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

function seamIn({ stdin, stdout }: ChildProcess, seam: SwiftSeam): void {
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
