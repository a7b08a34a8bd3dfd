import type { Server } from 'pannier/server'

/** Listens, tells the parent process where, and ends when that process does. */
export async function listenAsInstance(server: Server): Promise<void> {
  process.on('disconnect', () => process.exit())
  const { url } = await server.listen()
  process.send?.({ url })
}
