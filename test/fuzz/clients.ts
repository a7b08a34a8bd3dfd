/** Hostile clients of both eras: they call hostile servers, answer what these ask, and send what nobody should. */
import { setTimeout as sleep } from 'node:timers/promises'
import { open, envelope, type Wire } from '../fixtures/modernClient.ts'
import { post, RawSession } from '../interop/fixtures/rawSession.ts'
import type { Random } from './random.ts'
import { mutated, oddText, type Template } from './values.ts'

const CAN = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
  extensions: { 'io.modelcontextprotocol/tasks': {} },
}
const METHODS = [
  'tools/call',
  'tools/call',
  'tools/call',
  'tools/list',
  'prompts/get',
  'prompts/list',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'completion/complete',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'tasks/result',
  'tasks/list',
  'logging/setLevel',
  'server/discover',
  'subscriptions/listen',
  'resources/subscribe',
  'ping',
  'none',
]
const ANSWERS: readonly Template[] = [
  { action: 'accept', content: { sure: true } },
  { action: 'decline' },
  { role: 'assistant', model: 'm', content: { type: 'text', text: 'Said.' } },
  { roots: [{ uri: 'file:///a' }] },
]
const WITHIN_MS = 4000
const MOST_ROUNDS = 4
const MOST_QUESTIONS = 5

export interface ClientsOptions {
  readonly url: string
  /** The servers behind it. */
  readonly servers: readonly string[]
  readonly isOver: () => boolean
  readonly onSend: () => void
}

/** Sends until it is over. */
export async function hostileClient(random: Random, options: ClientsOptions): Promise<void> {
  while (!options.isOver()) {
    options.onSend()
    const turn = random.below(10)
    const acting = turn < 4 ? inSession(random, options) : turn < 8 ? stateless(random, options) : raw(random, options)
    // Whatever becomes of it: those who are served well are asked.
    await Promise.race([acting.catch(() => {}), sleep(WITHIN_MS)])
  }
}

function addressOf(random: Random, { url, servers }: ClientsOptions): { at: string; name: (own: string) => string } {
  const server = random.pick(servers)
  return random.chance(0.5)
    ? { at: url, name: (own) => `${server}_${own}` }
    : { at: `${url}/${server}`, name: (own) => own }
}

function paramsFor(random: Random, name: (own: string) => string): Record<string, Template> {
  const common = {
    name: name(random.pick(['t0', 't0', 't1', 'p', 'n3'])),
    arguments: { a: 'b' },
    uri: random.pick(['a://b', 'a://c', 'x']),
    taskId: 't',
    level: 'debug',
    notifications: { toolsListChanged: true },
    ref: { type: 'ref/prompt', name: name('p') },
    argument: { name: 'a', value: 'b' },
  }
  if (random.chance(0.7)) return common
  const changed = mutated(random, common, 0.4)
  try {
    return JSON.parse(changed) as Record<string, Template>
  } catch {
    return common
  }
}

async function stateless(random: Random, options: ClientsOptions): Promise<void> {
  const { at, name } = addressOf(random, options)
  const method = random.pick(METHODS)
  const signal = AbortSignal.timeout(random.chance(0.1) ? random.below(50) : WITHIN_MS)
  let more: Record<string, unknown> = {}
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const params = { ...paramsFor(random, name), ...more }
    const response = await open(at, { method, params, capabilities: CAN, signal })
    const text = await response.text()
    const { result }: Wire = text.startsWith('{') ? JSON.parse(text) : {}
    if (result?.resultType !== 'input_required') return
    const asked = Object.keys(result.inputRequests ?? {}).slice(0, MOST_QUESTIONS)
    const inputResponses = Object.fromEntries(asked.map((key) => [key, answer(random)]))
    more = { inputResponses, requestState: random.chance(0.9) ? result.requestState : oddText(random, 0.2) }
  }
}

function answer(random: Random): Template {
  const template = random.pick(ANSWERS)
  if (random.chance(0.6)) return template
  try {
    return JSON.parse(mutated(random, template, 0.3)) as Template
  } catch {
    return template
  }
}

async function inSession(random: Random, options: ClientsOptions): Promise<void> {
  const { at, name } = addressOf(random, options)
  const session = await RawSession.begin(at, { capabilities: CAN })
  for (let left = random.below(4); left >= 0; left--) {
    const stream = await session.open(random.pick(METHODS), paramsFor(random, name))
    if (random.chance(0.05)) return stream.close()
    for (const until = performance.now() + WITHIN_MS; performance.now() < until; ) {
      const message = await stream.next().catch(() => undefined)
      if (message === undefined || message.method === undefined) break
      if (message.id !== undefined) await (await session.answer(message, answer(random) as object)).text()
    }
    stream.close()
  }
  if (random.chance(0.5)) await session.end()
}

/** Bytes and headers that no client sends. */
async function raw(random: Random, { url, servers }: ClientsOptions): Promise<void> {
  const at = random.pick([url, `${url}/${random.pick(servers)}`, `${url}/none`, `${url}/%00`])
  const method = random.pick(METHODS)
  const message = { jsonrpc: '2.0', id: 1, method, params: { name: 't0', _meta: envelope(CAN) as Template } }
  const headers = random.pick<Record<string, string>>([
    {},
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
    { 'mcp-session-id': 'x', 'last-event-id': '\u00ff' },
    { 'mcp-session-id': 'x'.repeat(5000) },
    { 'content-type': 'text/plain' },
    { 'mcp-protocol-version': '1' },
  ])
  const signal = AbortSignal.timeout(WITHIN_MS)
  if (random.chance(0.3)) {
    const how = random.pick(['GET', 'DELETE', 'PUT', 'OPTIONS'])
    return (await fetch(at, { method: how, headers, signal })).body?.cancel()
  }
  if (random.chance(0.2)) return void (await (await post(at, headers, message, signal)).text())
  const body = mutated(random, message, random.chance(0.05) ? 0.9 : 0.5)
  const media = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  await (await fetch(at, { method: 'POST', headers: { ...media, ...headers }, body, signal })).text()
}
