/** The steps of a probe. Each sends the server one request, or a few that belong together, and adds the reply to the findings. */
import type { Json } from '../../protocol/index.ts'
import { readEra } from '../methods/era.ts'
import { onNewConnection, type ProbeWire } from '../wire/connection.ts'
import type { HttpWire } from '../wire/http.ts'
import {
  DISCOVER,
  INITIALIZE,
  INITIALIZED,
  LIST_TOOLS,
  modernRequest,
  PING,
  type Request,
  request,
} from '../wire/messages.ts'
import type { ProbeReply } from '../wire/reply.ts'
import { isEndpointEvent } from '../wire/sse.ts'
import type { StdioWire } from '../wire/stdio.ts'
import { type Findings, listMethodOf, sessionHeaders, type Step, type WitnessReplies } from './findings.ts'

export interface StepLimits {
  readonly timeoutMs: number
}

type StepRunner = (wire: ProbeWire, findings: Findings, options: StepLimits) => Promise<Partial<Findings>>

/** The share of the time limit for `server/discover`: an older server may never answer a method that it does not know. */
const ERA_SHARE = 0.5

export const STEPS: Readonly<Record<Step, StepRunner>> = {
  era: async (wire, _, { timeoutMs }) => ({
    era: readEra(await onNewConnection(wire, DISCOVER, timeoutMs * ERA_SHARE)),
  }),

  modernList: async (wire, { era }) => {
    const method = era?.discovered && listMethodOf(era.discovered)
    return { modernList: await onNewConnection(wire, modernRequest(4, method ?? 'tools/list')) }
  },

  initialize: async (wire) => {
    const initialize = await onNewConnection(wire, INITIALIZE)
    // A server that was too slow for `server/discover` may name its revisions in this error.
    const era = initialize.kind === 'error' ? readEra(initialize) : undefined
    return { initialize, ...(era?.era === 'modern' && { era }) }
  },

  bareList: async (wire) => ({ bareList: await onNewConnection(wire, LIST_TOOLS) }),

  barePing: async (wire) => ({ barePing: await onNewConnection(wire, PING) }),

  sseStream: async (wire, _, { timeoutMs }) =>
    wire.transport === 'http'
      ? { sseStream: await wire.listen({}, { listenMs: timeoutMs, until: isEndpointEvent }) }
      : {},

  control: async (wire, findings) => ({ control: await asAfterInitialize(wire, findings) }),
}

/** `tools/list` after `initialize`: over HTTP on another connection with the same session, over stdio in one process. */
async function asAfterInitialize(wire: ProbeWire, findings: Findings): Promise<ProbeReply> {
  if (wire.transport === 'stdio') return (await askInProcess(wire, [LIST_TOOLS], false))[0] ?? NOT_SENT
  const headers = sessionHeaders(findings)
  // Some servers answer no request before this notification.
  if ('mcp-session-id' in headers) await wire.post(INITIALIZED, headers)
  return wire.post(LIST_TOOLS, headers)
}

/** A tool that the caller says is safe to call. */
export interface HarmlessCall {
  readonly name: string
  readonly arguments?: Json
}

/**
 * The witness: a call that the user names, made twice in one process or session, and once in a fresh one. Over HTTP the
 * fresh one is the first replica, or else another session of the same server.
 */
export async function askWitness(
  wire: ProbeWire,
  findings: Findings,
  { call, replica }: { readonly call: HarmlessCall; readonly replica: URL | undefined },
): Promise<WitnessReplies> {
  const isModern = findings.era?.era === 'modern'
  const params = { name: call.name, arguments: call.arguments ?? {} }
  const asked = (isModern ? modernRequest : request)(9, 'tools/call', params)
  const ask = (requests: readonly Request[], instance?: URL): Promise<readonly ProbeReply[]> =>
    wire.transport === 'http'
      ? askInSession(wire, requests, isModern, instance)
      : askInProcess(wire, requests, isModern)
  const [first = NOT_SENT, second = NOT_SENT] = await ask([asked, asked])
  const [fresh = NOT_SENT] = await ask([asked], replica)
  return { tool: call.name, first, second, fresh }
}

const NOT_SENT: ProbeReply = { kind: 'not-sent' }

/** Asks a new process, one request after the other. */
async function askInProcess(
  wire: StdioWire,
  requests: readonly Request[],
  isModern: boolean,
): Promise<readonly ProbeReply[]> {
  const connection = await wire.connect()
  try {
    if (!isModern) {
      await connection.request(INITIALIZE)
      connection.notify(INITIALIZED)
    }
    const replies: ProbeReply[] = []
    for (const one of requests) replies.push(await connection.request(one))
    return replies
  } finally {
    await connection.close()
  }
}

/** The same in a new session over HTTP; the stateless revision has no sessions. */
async function askInSession(
  wire: HttpWire,
  requests: readonly Request[],
  isModern: boolean,
  url: URL | undefined,
): Promise<readonly ProbeReply[]> {
  const sending = url === undefined ? {} : { instance: { url } }
  const headers = isModern ? {} : sessionHeaders({ initialize: await wire.post(INITIALIZE, {}, sending) })
  if ('mcp-session-id' in headers) await wire.post(INITIALIZED, headers, sending)
  const replies: ProbeReply[] = []
  for (const one of requests) replies.push(await wire.post(one, headers, sending))
  return replies
}
