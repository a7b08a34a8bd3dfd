/** The steps of a probe. Each sends the server one request, or a few that belong together, and adds the reply to the findings. */
import { readEra } from '../methods/era.ts'
import { type Findings, listMethodOf, sessionHeaders, type Step } from './findings.ts'
import type { ProbeReply } from '../wire/reply.ts'
import { DISCOVER, INITIALIZE, INITIALIZED, LIST_TOOLS, modernRequest, PING } from '../wire/messages.ts'
import { isEndpointEvent } from '../wire/sse.ts'
import { onNewConnection, type ProbeWire } from '../wire/connection.ts'

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
  if (wire.transport === 'http') {
    const headers = sessionHeaders(findings)
    // Some servers answer no request before this notification.
    if ('mcp-session-id' in headers) await wire.post(INITIALIZED, headers)
    return wire.post(LIST_TOOLS, headers)
  }
  const connection = await wire.connect()
  try {
    await connection.request(INITIALIZE)
    connection.notify(INITIALIZED)
    return await connection.request(LIST_TOOLS)
  } finally {
    await connection.close()
  }
}
