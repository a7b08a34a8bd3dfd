/** A server of the older era with sessions, which can be told how strict to be about them. */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { events, type Host, json, type Seen, startHost } from './host.ts'
import { error, plainAnswer } from './plainAnswer.ts'

export interface Sessions {
  /** Shared by replicas that know each other's sessions. */
  readonly known?: Set<string>
  readonly capabilities?: object
  /** The answer to a request without a session. @default 400, "Bad Request: Server not initialized" */
  readonly refuse?: (seen: Seen, res: ServerResponse) => unknown
  /** Answers come as events with ids. */
  readonly streams?: boolean
  /** What is said on a stream of no request; without it there is none. */
  readonly news?: readonly object[]
  /** The id of a session. @default a random one */
  readonly session?: string
  /** The id of each event. @default 'event-1' */
  readonly eventId?: string
  /** Where ids are not looked up. */
  readonly careless?: boolean
}

export function startSessionHost(sessions: Sessions = {}): Promise<Host> {
  const {
    known = new Set<string>(),
    capabilities,
    refuse = refused,
    streams = false,
    news,
    eventId = 'event-1',
    careless = false,
  } = sessions
  return startHost((seen, res) => {
    const { verb, headers, message } = seen
    const id = headers['mcp-session-id']
    if (verb === 'POST' && message['method'] === 'initialize') {
      const session = sessions.session ?? randomUUID()
      known.add(session)
      return json(res, plainAnswer(message, capabilities), 200, { 'mcp-session-id': session })
    }
    if (id === undefined) return refuse(seen, res)
    if (!careless && !known.has(String(id))) return json(res, error(null, -32001, 'Session not found'), 404)
    if (verb === 'DELETE') return res.writeHead(known.delete(String(id)) ? 200 : 404).end()
    if (verb === 'GET') return news === undefined ? res.writeHead(405).end() : listen(res, news)
    const answer = plainAnswer(message, capabilities)
    if (answer === undefined) return res.writeHead(202).end()
    if (!streams) return json(res, answer)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    return res.end(`id: ${eventId}\ndata: ${JSON.stringify(answer)}\n\n`)
  })
}

function refused(_: Seen, res: ServerResponse): void {
  json(res, error(null, -32000, 'Bad Request: Server not initialized'), 400)
}

function listen(res: ServerResponse, news: readonly object[]): void {
  events(res, news)
  res.write(': open\n\n')
}
