/** What a hostile server answers: mostly nearly right, so that it gets as far into a gateway as it can. */
import type { Random } from './random.ts'
import { mutated, oddText, type Template } from './values.ts'

export interface Asked {
  readonly id?: number | string
  readonly method?: string
}

/** Texts of messages, in their order; each may be no message at all. */
export type Answers = Iterable<string>

const TOOL = {
  name: 't0',
  title: 'Tool',
  description: 'Does.',
  inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'A' } }, required: [] },
  outputSchema: { type: 'object', properties: { b: { type: 'number' } } },
  annotations: { readOnlyHint: true, idempotentHint: true },
  execution: { taskSupport: 'optional' },
  icons: [{ src: 'data:,' }],
  _meta: { a: 1 },
}
const FORM = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Sure?',
    requestedSchema: { type: 'object', properties: { sure: { type: 'boolean', default: true } }, required: ['sure'] },
  },
}
const QUESTIONS: readonly Template[] = [
  FORM,
  {
    method: 'elicitation/create',
    params: { mode: 'url', message: 'Go.', url: 'https://a.example/', elicitationId: 'e' },
  },
  {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say.' } }], maxTokens: 5 },
  },
  { method: 'roots/list', params: {} },
  { method: 'tools/call', params: { name: 't0' } },
]
const TASK = { taskId: 't', status: 'working', createdAt: '2026-01-01T00:00:00Z', ttlMs: 1000, pollIntervalMs: 100 }

const RESULTS: Readonly<Record<string, readonly Template[]>> = {
  initialize: [
    {
      protocolVersion: '2025-11-25',
      capabilities: {
        tools: { listChanged: true },
        prompts: {},
        resources: { subscribe: true },
        tasks: {},
        logging: {},
      },
      serverInfo: { name: 'hostile', version: '1', title: 'Hostile' },
      instructions: 'Use it.',
    },
  ],
  'server/discover': [
    {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true }, prompts: {}, resources: {}, extensions: {} },
      instructions: 'Use it.',
      ttlMs: 500,
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'hostile', version: '1' } },
    },
  ],
  'tools/list': [{ resultType: 'complete', tools: [TOOL, { ...TOOL, name: 't1' }], ttlMs: 500, cacheScope: 'public' }],
  'prompts/list': [{ resultType: 'complete', prompts: [{ name: 'p', arguments: [{ name: 'a' }] }], ttlMs: 500 }],
  'resources/list': [{ resultType: 'complete', resources: [{ uri: 'a://b', name: 'r' }], nextCursor: 'n' }],
  'resources/templates/list': [{ resultType: 'complete', resourceTemplates: [{ uriTemplate: 'a://{b}', name: 'r' }] }],
  'tools/call': [
    { resultType: 'complete', content: [{ type: 'text', text: 'Done.' }], structuredContent: { b: 1 }, isError: false },
    { content: [{ type: 'text', text: '[1,2]' }], structuredContent: [1, 2] },
    { resultType: 'input_required', inputRequests: { a: FORM, b: QUESTIONS[2] as Template }, requestState: 'state' },
    { resultType: 'input_required', requestState: 'state', inputRequests: {} },
    { resultType: 'task', ...TASK },
    { task: TASK },
    {
      content: [],
      _meta: { 'modelcontextprotocol.io/state/session': { a: 'b' }, 'modelcontextprotocol.io/state/server': {} },
    },
  ],
  'tasks/get': [
    TASK,
    { ...TASK, status: 'input_required', inputRequests: { a: FORM } },
    { ...TASK, status: 'completed', result: {} },
  ],
  'tasks/result': [{ content: [] }],
  'resources/read': [
    { contents: [{ uri: 'a://b', text: 'Text.', mimeType: 'text/plain' }], ttlMs: 0, cacheScope: 'public' },
  ],
  'prompts/get': [{ messages: [{ role: 'user', content: { type: 'text', text: 'Hi.' } }] }],
  'completion/complete': [{ completion: { values: ['a'], total: 1, hasMore: false } }],
}
/** What a server has to say well most of the time, so that it is asked anything else. */
const OPENING = /^(?:initialize|server\/discover|\w+(?:\/templates)?\/list)$/

const NOTIFICATIONS: readonly Template[] = [
  { method: 'notifications/tools/list_changed' },
  { method: 'notifications/resources/list_changed', params: {} },
  { method: 'notifications/resources/updated', params: { uri: 'a://b' } },
  { method: 'notifications/progress', params: { progressToken: 1, progress: 1, total: 2, message: 'On.' } },
  { method: 'notifications/message', params: { level: 'info', data: { a: 1 }, logger: 'l' } },
  { method: 'notifications/cancelled', params: { requestId: 1, reason: 'No.' } },
  { method: 'notifications/tasks/status', params: { ...TASK } },
  { method: 'notifications/subscriptions/acknowledged', params: {} },
  { method: 'notifications/elicitation/complete', params: { elicitationId: 'e' } },
]

export class HostileServer {
  readonly #random: Random
  /** What it did last, for whoever looks for the reason of a violation. */
  readonly recent: string[] = []
  #asked = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** What it sends for a request. */
  answers({ id, method = '' }: Asked): Answers {
    const random = this.#random
    const isOpening = OPENING.test(method)
    if (id === undefined) return random.chance(0.02) ? this.#noise() : []
    if (random.chance(isOpening ? 0.85 : 0.15)) return [this.#honest(id, method)]
    const trick = random.pick(TRICKS)
    this.recent.push(`${method} ${trick}`)
    if (this.recent.length > 50) this.recent.shift()
    switch (trick) {
      case 'odd result':
        return [response(id, 'result', mutated(random, this.#template(method), this.#size()))]
      case 'odd message':
        return [mutated(random, { jsonrpc: '2.0', id, result: this.#template(method) }, this.#size())]
      case 'odd error':
        return [response(id, 'error', mutated(random, { code: -32000, message: 'No.', data: { a: 1 } }, this.#size()))]
      case 'wrong id':
        return [response(random.pick([null, -1, String(id), 2 ** 53, '', 'x'.repeat(2000)]), 'result', '{}')]
      case 'twice':
        return [this.#honest(id, method), this.#honest(id, method), response(id, 'error', '{"code":1,"message":"a"}')]
      case 'batch':
        return [`[${this.#honest(id, method)},${this.#honest(id, method)},1,[]]`]
      case 'no JSON':
        return [
          random.pick(['', '{', '}', '\ufffd', '{"jsonrpc":"2.0","id":', 'Started.', 'NaN', '\u0000', `{"id":${id}`]),
        ]
      case 'nothing':
        return []
      case 'noise':
        return join(this.#noise(), [this.#honest(id, method)])
      case 'questions':
        return join(this.#questions(), [this.#honest(id, method)])
      case 'flood':
        return join(this.#flood(), [this.#honest(id, method)])
      case 'many tools':
        return [response(id, 'result', `{"tools":[${this.#tools()}],"ttlMs":1,"nextCursor":"${random.below(9)}"}`)]
      case 'many questions':
        return [
          response(
            id,
            'result',
            `{"resultType":"input_required","requestState":"s","inputRequests":{${this.#many()}}}`,
          ),
        ]
    }
  }

  #honest(id: unknown, method: string): string {
    return response(id, 'result', JSON.stringify(this.#template(method)))
  }

  #template(method: string): Template {
    return this.#random.pick(RESULTS[method] ?? [{}])
  }

  /** Large texts are rare, because they take most of the time. */
  #size(): number {
    return this.#random.chance(0.1) ? 1 : 0.6
  }

  *#noise(): Generator<string> {
    const random = this.#random
    for (let left = random.below(5); left >= 0; left--)
      yield mutated(random, { jsonrpc: '2.0', ...(random.pick(NOTIFICATIONS) as object) }, 0.5)
  }

  *#questions(): Generator<string> {
    const random = this.#random
    for (let left = random.below(3); left >= 0; left--) {
      const id = random.pick([`q${this.#asked++}`, this.#asked++, 1, '__proto__'])
      const question = { jsonrpc: '2.0', id, ...(random.pick(QUESTIONS) as object) }
      yield random.chance(0.3) ? JSON.stringify(question) : mutated(random, question, this.#size())
    }
  }

  *#flood(): Generator<string> {
    const random = this.#random
    const template = { jsonrpc: '2.0', ...(random.pick([...NOTIFICATIONS, { id: 'p', method: 'ping' }]) as object) }
    const text = random.chance(0.5) ? JSON.stringify(template) : mutated(random, template, 0.3)
    for (let left = Math.min(3000, 3_000_000 / text.length); left > 0; left--) yield text
  }

  #tools(): string {
    const random = this.#random
    const many = random.pick([10, 500, 2000, 20_000])
    const salt = random.below(1000)
    return Array.from(
      { length: many },
      (_, at) => `{"name":"n${at}","description":"${salt}","inputSchema":{"type":"object"}}`,
    ).join()
  }

  #many(): string {
    const many = this.#random.pick([5, 99, 101, 2000, 20_000])
    return Array.from({ length: many }, (_, at) => `"q${at}":${JSON.stringify(FORM)}`).join()
  }

  /** Bytes of a text, which may be no characters. */
  bytes(text: string): Buffer {
    const bytes = Buffer.from(text)
    if (bytes.length > 10 && this.#random.chance(0.03)) bytes[this.#random.below(bytes.length)] = 0xff
    return bytes
  }

  /** Where a text is cut in two. */
  cutIn(bytes: Buffer): number {
    return this.#random.below(bytes.length + 1)
  }

  odd(): string {
    return oddText(this.#random, 0.4)
  }
}

const TRICKS = [
  'odd result',
  'odd result',
  'odd result',
  'odd result',
  'odd message',
  'odd message',
  'odd error',
  'wrong id',
  'twice',
  'batch',
  'no JSON',
  'nothing',
  'noise',
  'questions',
  'questions',
  'flood',
  'many tools',
  'many questions',
] as const

function response(id: unknown, member: 'result' | 'error', text: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"${member}":${text}}`
}

function* join(first: Answers, then: Answers): Generator<string> {
  yield* first
  yield* then
}
