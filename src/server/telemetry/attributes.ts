/**
 * A call in the attributes of OpenTelemetry's semantic conventions for MCP. Arguments, answers and states are never
 * among them. Method, tool and prompt names only if this server has them, because callers could invent any number of
 * names.
 */
import type { Attributes } from '@opentelemetry/api'
import { CODES, isServerError } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
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

function ownAttributes({ id, method, params, peer }: Call): Attributes {
  const { uri } = params
  return {
    'jsonrpc.request.id': String(id),
    ...(peer.session !== undefined && { 'mcp.session.id': peer.session }),
    ...(method.startsWith('resources/') &&
      typeof uri === 'string' && { 'mcp.resource.uri': shortened(uri, MAX_URI_CHARS) }),
  }
}

/** The attributes of an error code. Only a fault of the server marks its span as an error; a bad request does not. */
export function errorAttributes(code: number): Attributes {
  const isFault = code === CODES.INTERNAL_ERROR || isServerError(code)
  return { 'rpc.response.status_code': String(code), ...(isFault && { 'error.type': String(code) }) }
}
