/** The Worker whose calls are left by their clients in left.test.ts. */
import { createServer } from 'pannier/server'

let aborted = 0

const server = createServer({ name: 'left', version: '1.0.0' })
server.tool('wait', { description: 'Works until it is stopped.' }, async (_, ctx) => {
  ctx.signal.addEventListener('abort', () => aborted++)
  ctx.progress(1)
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  return 'stopped'
})
server.tool('aborted', { description: 'Counts the calls that were stopped.' }, () => String(aborted))

export default { fetch: server.fetch }
