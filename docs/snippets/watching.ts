/** The code of docs/how-to/watching.md. */
// #region imports
import { trace } from '@opentelemetry/api'
import { createServer, type Logger, type Server } from 'pannier/server'
// #endregion imports

// #region logger
export function loggedServer(logger: Logger): Server {
  // A pino logger can be used directly. Others need four small functions: details first, then the sentence.
  return createServer({ name: 'logged', version: '1.0.0', logger })
}
// #endregion logger

// #region told
export function offerWork(server: Server): Server {
  return server.tool('work', { description: 'Works for a while.' }, async (_, ctx) => {
    ctx.log('info', { phase: 'start' }) // to the client, if it asked for this level
    for (let done = 1; done <= 3; done++) ctx.progress(done, 3, `Part ${done}`) // to the client, if it sent a token
    return 'Done.'
  })
}
// #endregion told

// #region trace
export function offerTraced(server: Server): Server {
  return server.tool('traced', { description: 'Does traced work.' }, (_, ctx) =>
    trace.getTracer('my-server').startActiveSpan('look up', (span) => {
      span.end()
      return `The trace parent of this request: ${String(ctx.meta['traceparent'])}.`
    }),
  )
}
// #endregion trace

// #region health
export function healthOf(server: Server): { status: 200 | 503; inFlight: number; trouble: string | undefined } {
  const { inFlight, trouble } = server
  return { status: trouble === undefined ? 200 : 503, inFlight, trouble }
}
// #endregion health
