/** Flows of two rounds, by clients of both eras: a call, a question in the middle of it, the answer, the result. */
import { type Limit, type Outcome, type Session, Tally, withinTime } from './load.ts'
import { messageIn, post, postForEvents, type ServerMessage } from './exchange.ts'
import { echoText, httpHeaders, type Retry, SESSION_VERSION, toolCall } from './messages.ts'
import { CONNECTIONS } from '../plan.ts'

const ACCEPTED = { action: 'accept', content: { ok: true } } as const

/** Where a stateless client sends its call, and where its answer; and who it says it is. */
export interface StatelessClient {
  port: number
  answerPort?: number
  path: string
  user?: string
}

/** Makes the call; gives what its second round brings back. */
export async function ask(client: StatelessClient, id: number): Promise<Retry> {
  const message = await send(client, client.port, toolCall(id, 'confirm', { text: echoText(id) }))
  const { inputRequests, requestState } = (message['result'] ?? {}) as Record<string, unknown>
  const [key] = Object.keys(inputRequests ?? {})
  if (key === undefined || typeof requestState !== 'string')
    throw new Error(`expected a question, got ${JSON.stringify(message).slice(0, 300)}`)
  return { requestState, inputResponses: { [key]: ACCEPTED } }
}

/** Brings the answer, and checks the result. */
export async function answer(client: StatelessClient, id: number, retry: Retry): Promise<void> {
  const body = toolCall(id, 'confirm', { text: echoText(id) }, retry)
  const message: ServerMessage = await send(client, client.answerPort ?? client.port, body)
  assertEcho(message, id)
}

async function send({ path, user }: StatelessClient, port: number, body: string): Promise<Record<string, unknown>> {
  const headers = { ...httpHeaders('confirm'), ...(user !== undefined && { 'X-User': user }) }
  return messageIn(await post({ port, path, headers, body }))
}

function assertEcho(message: ServerMessage, id: number): void {
  if (message.result?.content?.[0]?.text !== echoText(id))
    throw new Error(`expected the echo of ${id}, got ${JSON.stringify(message).slice(0, 300)}`)
}

/** As many flows at once as other loads have connections. */
export function statelessFlows(client: StatelessClient): Session {
  let last = 0
  return flows(() => async () => {
    const id = ++last
    await answer(client, id, await ask(client, id))
  })
}

export async function sessionFlows(port: number, path: string): Promise<Session> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => openSession(port, path)))
  return flows((index) => () => callInSession(clients[index % clients.length] ?? never()))
}

/** The flow of each of those that run at once, one after the other. */
function flows(flowOf: (index: number) => () => Promise<void>): Session {
  const all = Array.from({ length: CONNECTIONS }, (_, index) => flowOf(index))
  const repeat = async (flow: () => Promise<void>, tally: Tally): Promise<void> => {
    while (tally.running) {
      try {
        await flow()
        tally.countRight()
      } catch (error) {
        tally.countWrong(String(error))
      }
    }
  }
  return {
    async run(limit: Limit): Promise<Outcome> {
      const tally = new Tally(limit)
      await withinTime(limit, Promise.all(all.map((flow) => repeat(flow, tally))))
      return tally.outcome()
    },
    close() {},
  }
}

interface SessionClient {
  port: number
  path: string
  headers: Record<string, string>
  lastId: number
}

async function openSession(port: number, path: string): Promise<SessionClient> {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  const clientInfo = { name: 'pannier-bench', version: '1.0.0' }
  const params = { protocolVersion: SESSION_VERSION, capabilities: { elicitation: {} }, clientInfo }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const reply = await post({ port, path, headers, body })
  const session = String(reply.headers['mcp-session-id'])
  const client = { port, path, headers: { ...headers, 'Mcp-Session-Id': session }, lastId: 0 }
  await post({ ...client, body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }) })
  return { ...client, headers: { ...client.headers, 'MCP-Protocol-Version': SESSION_VERSION } }
}

/** The question comes on the stream of the call, and its answer goes with a request of its own. */
async function callInSession(client: SessionClient): Promise<void> {
  const id = ++client.lastId
  const params = { name: 'confirm', arguments: { text: echoText(id) } }
  const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
  let result: ServerMessage | undefined
  let answering: Promise<unknown> | undefined
  await postForEvents({ ...client, body }, (message) => {
    if (message.method === 'elicitation/create') answering = respond(client, message.id)
    else if (message.id === id) result = message
  })
  await answering
  assertEcho(result ?? {}, id)
}

async function respond(client: SessionClient, id: unknown): Promise<void> {
  const { status } = await post({ ...client, body: JSON.stringify({ jsonrpc: '2.0', id, result: ACCEPTED }) })
  if (status !== 202) throw new Error(`An answer was refused with status ${status}.`)
}

function never(): never {
  throw new Error('There is no client.')
}
