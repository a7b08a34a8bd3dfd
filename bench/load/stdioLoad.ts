import type { Readable, Writable } from 'node:stream'
import { type UncheckedResponse, isEcho } from './echoScript.ts'
import { type Limit, type Outcome, type Session, Tally, withinTime } from './load.ts'
import { echoText, toolCall } from './messages.ts'

export interface StdioLoad {
  input: Writable
  output: Readable
  inFlight: number
}

/** A multiple of the calls in flight, so that no id is in flight twice. */
const POOL = 1024

const lines = Array.from({ length: POOL }, (_, id) => `${toolCall(id, 'echo', { text: echoText(id) })}\n`)

/** Keeps a number of calls in flight on one pipe. */
export function openStdioLoad(load: StdioLoad): Session {
  return {
    async run(limit: Limit): Promise<Outcome> {
      const tally = new Tally(limit)
      const running = exchange(load, tally)
      try {
        await withinTime(limit, running.ended)
        return tally.outcome()
      } finally {
        running.detach()
      }
    },
    close() {},
  }
}

function exchange(load: StdioLoad, tally: Tally): { ended: Promise<void>; detach: () => void } {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const split = lineSplitter()
  let inFlight = 0

  function send(ids: number[]): void {
    if (ids.length === 0) return
    inFlight += ids.length
    load.input.write(ids.map((id) => lines[id]).join(''))
  }
  function onData(chunk: Buffer): void {
    try {
      const answered = split(chunk).map((line) => checkLine(line, tally))
      inFlight -= answered.length
      if (tally.running) send(answered.map((id) => (id + load.inFlight) % POOL))
      else if (inFlight === 0) resolve()
    } catch (error) {
      reject(error)
    }
  }
  function onClose(): void {
    reject(new Error('The server closed its output under load.'))
  }

  load.output.on('data', onData)
  load.output.on('close', onClose)
  send(Array.from({ length: load.inFlight }, (_, id) => id))
  const detach = (): void => {
    load.output.off('data', onData)
    load.output.off('close', onClose)
  }
  return { ended, detach }
}

/** Returns the complete lines of a chunk and keeps the rest for the next one. */
function lineSplitter(): (chunk: Buffer) => string[] {
  let rest = ''
  const decoder = new TextDecoder()
  return (chunk) => {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    return parts
  }
}

/** Counts the response, and returns the id of its call. */
function checkLine(line: string, tally: Tally): number {
  const message: UncheckedResponse = JSON.parse(line)
  if (typeof message.id !== 'number') throw new Error(`A line is not a response: ${line.slice(0, 300)}`)
  if (isEcho(message, message.id)) tally.countRight()
  else tally.countWrong(line.slice(0, 300))
  return message.id
}
