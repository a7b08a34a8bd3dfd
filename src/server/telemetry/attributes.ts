/**
 * A call in the attributes of OpenTelemetry's semantic conventions for MCP. Arguments, answers and states are never
 * among them. Method, tool and prompt names only if this server has them, because callers could invent any number of
 * names.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Attributes } from '@opentelemetry/api'
import { CODES, errorType, isServerError, sha256 } from '../../protocol/index.ts'
import type { Call, Peer, TracedCall } from '../call.ts'
import type { Registry } from '../catalog/registry.ts'
import { shortened } from '../logger.ts'

const MAX_URI_CHARS = 2000

export interface CallDescription {
  readonly spanName: string
  /** For the span and the metrics. */
  readonly common: Attributes
  /** For the span alone: different for each request. */
  readonly own: Attributes
}

type Names = Pick<Registry, 'tools' | 'prompts'>

/** `known`: whether this server has the method. */
export function describeCall(call: Call, known: boolean, names: Names): CallDescription {
  const method = known ? call.method : '_OTHER'
  const target = targetOf(call, names)
  return {
    spanName: target === undefined ? method : `${method} ${target.name}`,
    common: { 'mcp.method.name': method, 'mcp.protocol.version': call.peer.version, ...target?.attributes },
    own: ownAttributes(call),
  }
}

function targetOf(
  { method, params }: Call,
  { tools, prompts }: Names,
): { name: string; attributes: Attributes } | undefined {
  const { name } = params
  if (typeof name !== 'string') return undefined
  if (method === 'tools/call' && tools.has(name))
    return { name, attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name } }
  if (method === 'prompts/get' && prompts.has(name)) return { name, attributes: { 'gen_ai.prompt.name': name } }
  return undefined
}

function ownAttributes(call: Call): Attributes {
  const { id, method, params, peer } = call
  const { uri } = params
  return {
    ...(isTask(call) ? { 'pannier.task.id': String(id) } : { 'jsonrpc.request.id': String(id) }),
    ...transportAttributes(call),
    ...sessionAttributes(peer),
    ...(method.startsWith('resources/') &&
      typeof uri === 'string' && { 'mcp.resource.uri': shortened(uri, MAX_URI_CHARS) }),
  }
}

/** Whether the call is a run of a task, which has no request. */
function isTask({ channel }: Call): boolean {
  return channel.progress !== undefined
}

/** HTTP has headers; standard input does not. Calls of tasks and of other instances came by neither. */
function transportAttributes(call: Call): Attributes {
  if (call.header !== undefined) return { 'network.transport': 'tcp' }
  const isElsewhere = isTask(call) || call.resumed !== undefined || call.forwardedBy !== undefined
  return isElsewhere ? {} : { 'network.transport': 'pipe' }
}

function sessionAttributes({ session }: Peer): Attributes {
  return session === undefined ? {} : { 'mcp.session.id': session }
}

/** A question that is sent as a request of its own. */
export function questionAttributes(key: string, { method }: InputRequest, { peer }: Call): Attributes {
  const { version } = peer
  return { ...askedAttributes(key, method), 'mcp.protocol.version': version, ...sessionAttributes(peer) }
}

export function askedAttributes(key: string, method: string): Attributes {
  return { 'mcp.method.name': method, 'pannier.question.key': key }
}

/** The id of a call must stay secret, so spans have a hash of it. */
export function callAttributes({ id, round }: TracedCall): Attributes {
  return { 'pannier.call.id': sha256(id, 'hex').slice(0, 16), 'pannier.call.round': round + 1 }
}

/** The class of an error; its message may contain arguments. */
export function thrownAttributes(error: unknown): Attributes {
  return { 'error.type': error instanceof Error ? errorType(error) : '_OTHER' }
}

/** The attributes of an error code. Only a fault of the server marks its span as an error; a bad request does not. */
export function errorAttributes(code: number): Attributes {
  const isFault = code === CODES.INTERNAL_ERROR || isServerError(code)
  return { 'rpc.response.status_code': String(code), ...(isFault && { 'error.type': String(code) }) }
}
