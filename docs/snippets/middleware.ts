/** The code of docs/how-to/middleware.md and docs/how-to/limits.md. */
// #region imports
import { postgres, postgresRates } from 'pannier/postgres'
import { createServer, failure, LimitError, type Middleware, type Server } from 'pannier/server'
// #endregion imports

export const auditLog: string[] = []
export const server = createServer({ name: 'shop', version: '1.0.0' })

// #region audit
/** Writes a line when a call begins, and one when it has ended or asked. */
export const audit: Middleware = async (call, next) => {
  const { kind, name, id, round, principal } = call
  if (round === 1) auditLog.push(`${id} ${principal?.id ?? 'somebody'} calls the ${kind} ${name}`)
  const result = await next()
  const ended = result.resultType === 'input_required' ? 'asked' : result.isError ? 'failed' : 'done'
  auditLog.push(`${id} round ${round}: ${ended}`)
  return result
}

server.use(audit)
// #endregion audit

// #region quota
const callsToday = new Map<string, number>()

server.use((call, next) => {
  if (call.kind !== 'tool' || call.round > 1 || call.task !== undefined) return next()
  const caller = call.principal?.id ?? 'anonymous'
  const calls = (callsToday.get(caller) ?? 0) + 1
  callsToday.set(caller, calls)
  if (calls > 100) throw new LimitError('LIMIT_CALLS', 'You have made your 100 calls of today.', 3600)
  return call.name.startsWith('beta_') ? failure('This tool is not ready yet.') : next()
})
// #endregion quota

server.tool('buy', { description: 'Buys something.' }, () => 'Bought.')
server.tool('beta_sell', { description: 'Sells something.' }, () => 'Sold.')

// #region limits
export const limited = createServer({
  name: 'limited',
  version: '1.0.0',
  limits: {
    requestsPerMinute: 600,
    callsAtOnce: 20,
    // A proxy in front of this server sets this header, and removes what callers put there.
    clientAddress: ({ header }) => header('x-real-ip'),
  },
})
// #endregion limits

// #region postgres
export function oneOfMany(url: string): Server {
  const store = postgresRates(postgres({ url }))
  return createServer({ name: 'limited', version: '1.0.0', limits: { requestsPerMinute: 600, store } })
}
// #endregion postgres
