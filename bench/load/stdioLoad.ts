import type { Readable, Writable } from 'node:stream'
import { type AnyAnswer, isEcho } from './echoScript.ts'
import { type Limit, type Outcome, type Session, Tally, withinTime } from './load.ts'
import { echoText, toolCall } from './messages.ts'

export interface StdioLoad {
  input: Writable
  output: Readable
  inFlight: number
}

/** A multiple of the calls in flight, so that an id is never under way twice. */
const POOL = 1024

const lines = Array.from({ length: POOL }, (_, id) => `${toolCall(id, 'echo', { text: echoText(id) })}\n`)

/** Keeps so many calls under way on one pipe. */
export function openStdioLoad(load: StdioLoad): Session {
  return {
    async run(limit: Limit): Promise<Outcome> {
      const tally = new Tally(limit)
      const talk = exchange(load, tally)
      try {
        await withinTime(limit, talk.ended)
        return tally.outcome()
      } finally {
        talk.leave()
      }
    },
    close() {},
  }
}

function exchange(load: StdioLoad, tally: Tally): { ended: Promise<void>; leave: () => void } {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const split = lineSplitter()
  let underWay = 0

  function send(ids: number[]): void {
    if (ids.length === 0) return
    underWay += ids.length
    load.input.write(ids.map((id) => lines[id]).join(''))
  }
  function onData(chunk: Buffer): void {
    try {
      const answered = split(chunk).map((line) => checkLine(line, tally))
      underWay -= answered.length
      if (tally.running) send(answered.map((id) => (id + load.inFlight) % POOL))
      else if (underWay === 0) resolve()
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
  const leave = (): void => {
    load.output.off('data', onData)
    load.output.off('close', onClose)
  }
  return { ended, leave }
}

/** Gives the whole lines of a chunk and keeps the rest for the next. */
function lineSplitter(): (chunk: Buffer) => string[] {
  let rest = ''
  const decoder = new TextDecoder()
  return (chunk) => {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    return parts
  }
}

/** Counts the answer, and gives the id of the call it belongs to. */
function checkLine(line: string, tally: Tally): number {
  const message: AnyAnswer = JSON.parse(line)
  if (typeof message.id !== 'number') throw new Error(`A line is not an answer: ${line.slice(0, 300)}`)
  if (isEcho(message, message.id)) tally.countRight()
  else tally.countWrong(line.slice(0, 300))
  return message.id
}
