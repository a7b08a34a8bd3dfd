/**
 * Standard input and output of a server, line by line through the matrix where it listens: each line waits until the matrix
 * lets it pass, so that something can be killed before it does.
 */
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { PassThrough, type Readable, Writable } from 'node:stream'

export interface Lines {
  readonly input: Readable
  readonly output: Writable
}

export function tappedLines(): Lines {
  // As the specification has it. The SDK by itself goes on until a question that is open has waited for a minute.
  process.stdin.once('end', () => process.exit())
  const path = process.env['MATRIX_LINES']
  if (path === undefined) return { input: process.stdin, output: process.stdout }
  const pass = gate(path)
  const input = new PassThrough()
  createInterface(process.stdin).on('line', (line) => void pass('in', line).then(() => input.write(`${line}\n`)))
  let rest = ''
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const lines = `${rest}${chunk.toString()}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) void pass('out', line).then(() => process.stdout.write(`${line}\n`))
      done()
    },
  })
  return { input, output }
}

/** Lines pass in the order in which they came. */
function gate(path: string): (way: 'in' | 'out', line: string) => Promise<void> {
  const waiting: (() => void)[] = []
  const socket = connect(path).on('error', () => process.exit())
  socket.on('close', () => process.exit())
  createInterface(socket).on('line', () => waiting.shift()?.())
  return (way, line) =>
    new Promise((resolve) => {
      waiting.push(resolve)
      socket.write(`${process.pid} ${way} ${line}\n`)
    })
}
