import { openListener } from '../server/internal.ts'

/** Before servers and workers are started: a port that is in use is told at once. */
export async function assertPortFree(at: { readonly host: string; readonly port: number }): Promise<void> {
  if (at.port === 0) return
  const { close } = await openListener(at, (_, res) => void res.writeHead(503).end())
  await close()
}
