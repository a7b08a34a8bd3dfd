/**
 * Ports for gateways and servers, each given once in a run. Where one was killed nobody else may listen soon after: what was
 * meant for it can still be sent there.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Systems take ports above from those who ask for any, as clients, servers and taps of the matrix do. */
const FIRST = 10_000
const LAST = 32_767

/** Runs beside each other begin at different ports. */
let next = FIRST + ((process.pid * 101) % (LAST - FIRST))

/** One that nobody uses, and that was not given before. */
export async function newPort(): Promise<number> {
  for (;;) {
    const port = next
    next = port === LAST ? FIRST : port + 1
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return false
  }
  await once(server.close(), 'close')
  return true
}
