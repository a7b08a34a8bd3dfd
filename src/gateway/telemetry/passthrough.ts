/** Records each passed-through call, as far as its headers describe it. */
import type { HeaderReader, Json } from '../../protocol/index.ts'
import { type Principal, shortened } from '../../server/internal.ts'
import { type CallRecorderOptions, REQUEST_ID } from './calls.ts'
import type { CallOutcome, CallTarget } from './metrics.ts'
import { traceIdOf } from './tracing.ts'

export interface PassthroughRecord {
  readonly backend: NamedLists
  readonly header: HeaderReader
  readonly principal: Principal | undefined
  readonly outcome: CallOutcome
  readonly error: string | undefined
  /** By `performance.now()`. */
  readonly startedAt: number
}

type ListedEntries = readonly Json[]

interface NamedLists {
  readonly name: string
  readonly lists: { readonly latest: { readonly tools: ListedEntries; readonly prompts: ListedEntries } }
}

/** The recorded methods. */
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read', 'completion/complete'])

/** The same as for other calls, without what only the body tells: its id, and whether a tool failed or asked. */
export function recordPassthrough({ route, logger, metrics }: CallRecorderOptions, record: PassthroughRecord): void {
  const { backend, header, principal, outcome, error, startedAt } = record
  const method = header('mcp-method') ?? ''
  if (!CALLS.has(method)) return
  const elapsed = performance.now() - startedAt
  const target = targetOf(backend, method, header)
  metrics.ended({ method, target, outcome, seconds: elapsed / 1000 })
  if (logger === undefined) return
  const { server, name } = target
  const details: Record<string, unknown> = { route, server, method }
  if (name !== undefined && method === 'prompts/get') details['prompt'] = shortened(name)
  else if (name !== undefined) details['tool'] = shortened(name)
  details['outcome'] = outcome
  if (error !== undefined) details['error'] = error
  details['ms'] = Math.round(elapsed * 10) / 10
  if (principal !== undefined) details['principal'] = shortened(principal.id)
  addIds(details, header)
  logger.info(details, 'A call was answered.')
}

function targetOf({ name: server, lists }: NamedLists, method: string, header: HeaderReader): CallTarget {
  const { tools, prompts } = lists.latest
  const list = method === 'tools/call' ? tools : method === 'prompts/get' ? prompts : undefined
  const name = list && header('mcp-name')
  const isListed = name !== undefined && list !== undefined && namesIn(list).has(name)
  return { server, name, isListed }
}

const known = new WeakMap<ListedEntries, ReadonlySet<unknown>>()

function namesIn(list: ListedEntries): ReadonlySet<unknown> {
  const found = known.get(list)
  if (found !== undefined) return found
  const names = new Set(list.map(({ name }) => name))
  known.set(list, names)
  return names
}

function addIds(details: Record<string, unknown>, header: HeaderReader): void {
  const requestId = header('x-request-id')
  if (requestId !== undefined && REQUEST_ID.test(requestId)) details['requestId'] = requestId
  const traceparent = header('traceparent')
  const traceId = traceparent === undefined ? undefined : traceIdOf({ traceparent })
  if (traceId !== undefined) details['traceId'] = traceId
}
