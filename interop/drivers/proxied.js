/** Programs between a client and a server: SDK 1.32 talks to them, and they to the server. */
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const START_MS = 15_000

/** Opens `sdk` at a program that it starts itself. */
export function throughStdio(sdk, options, args) {
  return sdk.open({ command: process.execPath, args }, options)
}

/** Starts a program that listens, and opens `sdk` at its address. `args` gets the port. */
export async function throughHttp(sdk, options, args) {
  const port = await freePort()
  const child = spawn(process.execPath, args(port), { stdio: 'ignore' })
  try {
    await untilListening(port, child)
    const connection = await sdk.open({ url: `http://127.0.0.1:${port}/mcp` }, options)
    const close = async () => {
      await connection.close()
      child.kill()
    }
    return { ...connection, close }
  } catch (error) {
    child.kill()
    throw error
  }
}

async function untilListening(port, child) {
  const deadline = performance.now() + START_MS
  while (!(await isListening(port))) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error('The program does not listen.')
    await pause(50)
  }
}

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

function isListening(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
