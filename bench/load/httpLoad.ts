import { connect, type Socket } from 'node:net'
import { AnswerReader } from './answerReader.ts'
import { type Limit, type Outcome, Tally, withinTime } from './load.ts'
import { type Script, WrongAnswer } from './script.ts'

export interface HttpLoad {
  port: number
  connections: number
  limit: Limit
  /** The script of the n-th connection. */
  script: (index: number) => Script
}

/**
 * Keeps one request under way on each connection until the limit. Raw sockets and prebuilt requests, because a
 * full HTTP client costs as much as the server it measures. Connections are new for each load: a server may have
 * closed idle ones meanwhile.
 */
export async function httpLoad(load: HttpLoad): Promise<Outcome> {
  const sockets = await Promise.all(Array.from({ length: load.connections }, () => open(load.port)))
  const tally = new Tally(load.limit)
  try {
    const ends = sockets.map((socket, index) => converse(socket, load.script(index), tally))
    await withinTime(load.limit, Promise.all(ends))
    return tally.outcome()
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

/** One connection's talk, to its end. */
function converse(socket: Socket, script: Script, tally: Tally): Promise<void> {
  return new Promise((resolve, reject) => {
    const reader = new AnswerReader()
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('The server closed a connection under load.')))
    socket.on('data', (chunk) => {
      try {
        const answer = reader.push(chunk)
        if (answer === undefined) return
        if (script.take(answer)) tally.right()
      } catch (error) {
        if (!(error instanceof Error)) throw error
        if (!(error instanceof WrongAnswer)) return reject(error)
        tally.wrongAnswer(error.message)
        script.reset()
      }
      if (tally.running) socket.write(script.next())
      else resolve()
    })
    socket.write(script.next())
  })
}
