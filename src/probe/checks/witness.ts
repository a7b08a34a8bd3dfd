/** The witness: a call that the user names, made twice in one process or session, and once in a fresh one. */
import { type Findings, sessionHeaders, type WitnessReplies } from '../decision/findings.ts'
import type { ProbeWire } from '../wire/connection.ts'
import type { HttpWire } from '../wire/http.ts'
import { INITIALIZE, INITIALIZED, modernRequest, type Request, request } from '../wire/messages.ts'
import type { ProbeReply } from '../wire/reply.ts'
import type { StdioWire } from '../wire/stdio.ts'
import type { HarmlessCall } from './check.ts'

/** Over HTTP the fresh one is the first replica, or else another session of the same server. */
export async function askWitness(
  wire: ProbeWire,
  findings: Findings,
  { call, replica }: { readonly call: HarmlessCall; readonly replica: URL | undefined },
): Promise<WitnessReplies> {
  const isModern = findings.era?.era === 'modern'
  const params = { name: call.name, arguments: call.arguments ?? {} }
  const asked = isModern ? modernRequest(9, 'tools/call', params) : request(9, 'tools/call', params)
  const ask = (count: number, instance?: URL): Promise<readonly ProbeReply[]> =>
    wire.transport === 'http'
      ? askOverHttp(wire, asked, { count, isModern, instance })
      : askInProcess(wire, asked, { count, isModern })
  const [first = NONE, second = NONE] = await ask(2)
  const [fresh = NONE] = await ask(1, replica)
  return { tool: call.name, first, second, fresh }
}

const NONE: ProbeReply = { kind: 'not-sent' }

async function askInProcess(
  wire: StdioWire,
  asked: Request,
  { count, isModern }: { readonly count: number; readonly isModern: boolean },
): Promise<readonly ProbeReply[]> {
  const connection = await wire.connect()
  try {
    if (!isModern) {
      await connection.request(INITIALIZE)
      connection.notify(INITIALIZED)
    }
    const replies: ProbeReply[] = []
    for (let call = 0; call < count; call++) replies.push(await connection.request(asked))
    return replies
  } finally {
    await connection.close()
  }
}

async function askOverHttp(
  wire: HttpWire,
  asked: Request,
  {
    count,
    isModern,
    instance,
  }: { readonly count: number; readonly isModern: boolean; readonly instance: URL | undefined },
): Promise<readonly ProbeReply[]> {
  const sending = instance === undefined ? {} : { instance: { url: instance } }
  const headers = isModern ? {} : await beginSession(wire, sending)
  const replies: ProbeReply[] = []
  for (let call = 0; call < count; call++) replies.push(await wire.post(asked, headers, sending))
  return replies
}

async function beginSession(
  wire: HttpWire,
  sending: { readonly instance?: { readonly url: URL } },
): Promise<Record<string, string>> {
  const initialize = await wire.post(INITIALIZE, {}, sending)
  const headers = sessionHeaders({ initialize })
  if ('mcp-session-id' in headers) await wire.post(INITIALIZED, headers, sending)
  return headers
}
