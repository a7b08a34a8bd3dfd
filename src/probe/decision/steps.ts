/** The steps of a probe: each asks the server one thing, and says what was heard. */
import { readEra } from '../methods/era.ts'
import { type Findings, listMethodOf, sessionHeaders, type Step } from './findings.ts'
import type { Heard } from '../wire/reply.ts'
import { DISCOVER, INITIALIZE, INITIALIZED, LIST_TOOLS, modernRequest, PING, type Request } from '../wire/messages.ts'
import { isEndpoint } from '../wire/sse.ts'
import type { Wire } from '../wire/connection.ts'

export interface StepOptions {
  readonly timeoutMs: number
}

type Act = (wire: Wire, findings: Findings, options: StepOptions) => Promise<Partial<Findings>>

/** An older server may not answer a method that it does not know; nobody waits long for that. */
const ERA_SHARE = 0.5

export const STEPS: Readonly<Record<Step, Act>> = {
  era: async (wire, _, { timeoutMs }) => ({
    era: readEra(await alone(wire, DISCOVER, timeoutMs * ERA_SHARE)),
  }),

  modernList: async (wire, { era }) => {
    const method = era?.discovered && listMethodOf(era.discovered)
    return { modernList: await alone(wire, modernRequest(4, method ?? 'tools/list')) }
  },

  initialize: async (wire) => {
    const initialize = await alone(wire, INITIALIZE)
    // A server that was too slow for the first question may say here that it has no sessions.
    const era = initialize.kind === 'error' ? readEra(initialize) : undefined
    return { initialize, ...(era?.era === 'modern' && { era }) }
  },

  bareList: async (wire) => ({ bareList: await alone(wire, LIST_TOOLS) }),

  barePing: async (wire) => ({ barePing: await alone(wire, PING) }),

  oldStream: async (wire, _, { timeoutMs }) =>
    wire.transport === 'http' ? { oldStream: await wire.listen({}, { listenMs: timeoutMs, until: isEndpoint }) } : {},

  control: async (wire, findings) => ({ control: await asAfterInitialize(wire, findings) }),
}

/** One request on a connection of its own, which is closed behind it. */
export async function alone(wire: Wire, request: Request, timeoutMs?: number): Promise<Heard> {
  if (wire.transport === 'http') return wire.post(request, {}, timeoutMs === undefined ? {} : { timeoutMs })
  const connection = await wire.connect(timeoutMs)
  try {
    return await connection.request(request)
  } finally {
    await connection.close()
  }
}

/** Over HTTP with what `initialize` gave, as a second connection of the same client; else after it, in one process. */
async function asAfterInitialize(wire: Wire, findings: Findings): Promise<Heard> {
  if (wire.transport === 'http') {
    const headers = sessionHeaders(findings)
    // Some servers serve nothing before they have heard this.
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
