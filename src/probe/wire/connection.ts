import type { HttpWire } from './http.ts'
import type { Request } from './messages.ts'
import type { ProbeReply } from './reply.ts'
import type { StdioWire } from './stdio.ts'

/** The transport to the server under test. Every request can be sent on a connection that nothing else has used. */
export type ProbeWire = HttpWire | StdioWire

/** Sends one request on its own connection or to its own process, and closes that. */
export async function onNewConnection(wire: ProbeWire, request: Request, timeoutMs?: number): Promise<ProbeReply> {
  if (wire.transport === 'http') return wire.post(request, {}, timeoutMs === undefined ? {} : { timeoutMs })
  const connection = await wire.connect(timeoutMs)
  try {
    return await connection.request(request)
  } finally {
    await connection.close()
  }
}
