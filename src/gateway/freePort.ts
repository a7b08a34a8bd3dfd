import { once } from 'node:events'
import { connect } from 'node:net'
import { portInUse } from '../server/internal.ts'

/**
 * Reports a port in use before servers and workers are started. It connects to the port instead of listening there: a
 * balancer would send clients to a gateway that cannot serve them yet.
 */
export async function assertPortFree({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  if (port === 0) return
  const socket = connect({ port, host, timeout: ANSWERS_WITHIN_MS })
  socket.once('timeout', () => socket.destroy(new Error('Nobody has answered.')))
  const isUsed = await once(socket, 'connect').then(
    () => true,
    () => false, // any other obstacle is reported when the process listens
  )
  socket.destroy()
  if (isUsed) throw portInUse(port, host)
}

const ANSWERS_WITHIN_MS = 1000
