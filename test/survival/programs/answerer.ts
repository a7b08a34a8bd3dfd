/** An instance whose one tool answers after a few milliseconds. Says its address in its first line. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'pannier/server'
import { z } from 'zod'

const server = createServer({ name: 'answerer', version: '1.0.0' })
const input = z.object({ ms: z.number() })
server.tool('wait', { description: 'Answers after some time.', input }, async ({ ms }) => {
  if (ms > 0) await sleep(ms)
  return 'answered'
})

/** A client process that is stalled for the usual second would find its idle connections closed. */
const IDLE_MS = 10_000

const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 0), drainOnTerm: false })
process.once('SIGTERM', () => void server.drain({ idleMs: IDLE_MS }).then(() => process.exit()))
process.stdout.write(`${url}\n`)
process.stdin.on('end', () => process.exit()).resume() // whoever started it is gone
