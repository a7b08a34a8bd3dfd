/** Checks of messages outside of replies: the GET stream, requests of the server, lines on standard output. */
import { isServed, sessionHeaders } from '../decision/findings.ts'
import { evidence } from '../report/evidence.ts'
import { instanceText } from '../wire/httpRequest.ts'
import { replyText } from '../wire/reply.ts'
import type { ProbeCheck, ProbeCheckContext } from './check.ts'

/** How long the headers of a GET may take. */
const HEADERS_MS = 500

/** Whether GET opens a stream, and how many messages come on it. */
export const getStream: ProbeCheck = {
  name: 'get-stream',
  isUsual: true,
  cost: ({ findings }) => (isServed(findings) && findings.sseStream === undefined ? 1 : undefined),
  run: async (context) => {
    const { wire, findings, options } = context
    if (wire.transport !== 'http') return []
    // Some servers send the headers of a stream with its first event only. The verdict does not wait for that.
    const timeoutMs = options.listenMs + HEADERS_MS
    context.stream = await wire.listen(sessionHeaders(findings), { listenMs: options.listenMs }, { timeoutMs })
    const status = context.stream.http?.status
    if (context.stream.kind === 'stream') {
      const count = context.stream.events.length
      const came = count === 0 ? 'nothing came' : `${count} message${count === 1 ? '' : 's'} came`
      const sentence = `GET opens a stream; in ${options.listenMs} ms ${came} on it.`
      return evidence('get-stream', 'UNKNOWN', sentence, { status, messages: count })
    }
    if (status === 405)
      return evidence('get-stream', 'UNKNOWN', 'GET is not served (405): no stream outlives a request.', { status })
    return evidence('get-stream', 'UNKNOWN', `To GET it ${replyText(context.stream)}.`, { status })
  },
}

/** Whether a broken stream can be resumed with `Last-Event-ID`, on another connection or at a replica. */
export const resume: ProbeCheck = {
  name: 'resume',
  isUsual: false,
  cost: (context) => (lastEventId(context) === undefined ? undefined : 1),
  run: async (context) => {
    const { wire, findings, options } = context
    if (wire.transport !== 'http') return []
    const [url] = options.replicas
    const headers = { ...sessionHeaders(findings), 'last-event-id': lastEventId(context) ?? '' }
    const reply = await wire.listen(
      headers,
      { listenMs: options.listenMs },
      url === undefined ? {} : { instance: { url } },
    )
    const where = url === undefined ? 'on another connection' : `at ${instanceText({ url })}`
    return reply.kind === 'stream'
      ? evidence('resume', 'UNKNOWN', `A stream that broke off is resumed ${where}.`)
      : evidence('resume', 'UNKNOWN', `A stream that broke off is not resumed ${where}: it ${replyText(reply)}.`)
  },
}

/** An event id that can be sent in a header. */
const SENDABLE = /^[\x21-\x7e]{1,1000}$/

/** From the GET stream, or from a reply that came as a stream. */
function lastEventId({ stream, second, findings: { initialize } }: ProbeCheckContext): string | undefined {
  return [stream, second, initialize]
    .map((reply) => reply?.http?.lastEventId)
    .find((id) => id !== undefined && SENDABLE.test(id))
}

/** SEP-2260: a server sends requests only while it handles a request of that client. Pings stay allowed. */
export const unrelatedRequests: ProbeCheck = {
  name: 'unrelated-requests',
  isUsual: true,
  cost: ({ wire, stream }) => (wire.transport === 'stdio' || stream?.kind === 'stream' ? 0 : undefined),
  run: ({ wire }) => {
    const methods = [...new Set(wire.unrelated.map(knownMethod))].filter((method) => method !== 'ping')
    return methods.length === 0
      ? evidence('unrelated-requests', 'UNKNOWN', 'It sent no requests of its own outside a request.')
      : evidence(
          'unrelated-requests',
          'STATEFUL',
          `It sends requests of its own outside a request: ${methods.join(', ')}.`,
          { methods },
        )
  },
}

/** The standard output of a server program is for protocol messages only. */
export const strayOutput: ProbeCheck = {
  name: 'stray-output',
  isUsual: true,
  cost: ({ wire }) => (wire.transport === 'stdio' && wire.strayLines > 0 ? 0 : undefined),
  run: ({ wire }) => {
    const lines = wire.transport === 'stdio' ? wire.strayLines : 0
    const count = lines === 1 ? '1 line' : `${lines} lines`
    return evidence('stray-output', 'UNKNOWN', `It writes ${count} to its standard output that are not messages.`, {
      lines,
    })
  },
}

const CLIENT_METHODS: ReadonlySet<string> = new Set([
  'ping',
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
])

/** Unknown method names are not repeated: they are text from the server. */
function knownMethod(method: string): string {
  return CLIENT_METHODS.has(method) ? method : 'another method'
}
