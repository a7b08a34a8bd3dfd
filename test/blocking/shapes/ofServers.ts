/** What servers behind a gateway send: results, questions, streams and lists. */
import type { Received, Reply } from '../fixtures/backends.ts'
import type { SentRequest } from '../fixtures/subject.ts'
import {
  CHARS,
  deepLists,
  emptyObjects,
  escapedKeys,
  long,
  manyKeys,
  manyNumbers,
  manyObjects,
  manyTexts,
  nestedIn,
  numberKeys,
  objectOf,
  wideKeys,
} from './large.ts'
import { called, message, type Sender } from './sender.ts'

/** An answer that might stop the event loop of a gateway. `answer`: part of what the client gets. */
export type ServerShape = readonly [
  what: string,
  answer: string,
  reply: (received: Received) => Reply | undefined,
  /** One after the other. */
  sent: (client: Sender) => readonly SentRequest[],
]

type Answering = (received: Received) => Reply

/** Stands for what nests so deep that JSON.stringify would not write it. */
const DEEP = 'DEEP'
const text = (members: object): string =>
  JSON.stringify({ jsonrpc: '2.0', ...members }).replace(`"${DEEP}"`, () => '['.repeat(5000) + ']'.repeat(5000))
const json = ({ id }: Received, members: object): Reply => ({ body: text({ id, ...members }) })
const complete = ({ era }: Received, result: object): object =>
  era === 'modern' ? { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private', ...result } : result
const result =
  (make: () => object): Answering =>
  (received) =>
    json(received, { result: complete(received, { content: [], ...make() }) })
const failure =
  (make: () => object): Answering =>
  (received) =>
    json(received, { error: { code: -32000, message: 'No.', ...make() } })
/** A result with a JSON text that no value is written as. */
const written =
  (make: () => string): Answering =>
  (received) => {
    const { body = '' } = result(() => ({ structuredContent: 'HERE' }))(received)
    return { body: body.replace('"HERE"', make) }
  }
const said = { content: [{ type: 'text', text: 'said' }] }
const event = (members: object): string => `data: ${text(members)}\n\n`
/** A stream with something before the result. */
const stream =
  (make: (received: Received) => string): Answering =>
  (received) => {
    const last = event({ id: received.id, result: complete(received, said) })
    return { type: 'text/event-stream', body: `${make(received)}${last}` }
  }

const RESULTS: readonly (readonly [what: string, answer: string, reply: Answering])[] = [
  ['a text', 'xxx', result(() => ({ content: [{ type: 'text', text: long('x') }] }))],
  ['control characters', 'u0001', result(() => ({ content: [{ type: 'text', text: long('\u0001', CHARS / 6) }] }))],
  ['quotes', '\\"', result(() => ({ content: [{ type: 'text', text: long('"', CHARS / 2) }] }))],
  ['Chinese', '字', result(() => ({ content: [{ type: 'text', text: long('字', CHARS / 3) }] }))],
  [
    'many blocks',
    'xxx',
    result(() => ({ content: Array.from({ length: 4000 }, () => ({ type: 'text', text: 'x'.repeat(900) })) })),
  ],
  ['many keys', 'kkk', result(() => ({ structuredContent: manyKeys() }))],
  ['wide keys', '字', result(() => ({ structuredContent: wideKeys() }))],
  ['escaped keys', '\\n', result(() => ({ structuredContent: escapedKeys() }))],
  ['number keys', '"6":1', result(() => ({ structuredContent: numberKeys() }))],
  ['many texts', 'é', result(() => ({ structuredContent: { list: manyTexts() } }))],
  ['many numbers', '0.333', result(() => ({ structuredContent: { list: manyNumbers() } }))],
  ['many objects', 'xxx', result(() => ({ structuredContent: { list: manyObjects() } }))],
  ['deep lists', '[[[[', result(() => ({ structuredContent: { list: deepLists() } }))],
  ['a list as structured content', 'é', result(() => ({ structuredContent: manyTexts() }))],
  ['many members of _meta', 'kkk', result(() => ({ _meta: manyKeys() }))],
  ['the message of an error', 'error', failure(() => ({ message: long('x') }))],
  ['the data of an error', 'error', failure(() => ({ data: manyKeys() }))],
  ['empty objects', '', written(emptyObjects)],
  ['60 MB of empty objects', '', written(() => `[${'{},'.repeat(20_000_000)}{}]`)],
  ['deep nesting', '', result(() => ({ structuredContent: DEEP }))],
  ['a number of many digits', '', written(() => long('1'))],
  ['deep data of an error', '', failure(() => ({ data: DEEP }))],
]

/** An error beside a status, of which the words are looked at. */
const refused =
  (status: number, make: () => object): Answering =>
  (received) => ({ ...failure(make)(received), status })

const REFUSALS: readonly (readonly [what: string, answer: string, reply: Answering])[] = [400, 404, 500].flatMap(
  (status): readonly (readonly [what: string, answer: string, reply: Answering])[] => [
    [`HTTP ${status} and many keys`, 'error', refused(status, () => ({ data: manyKeys() }))],
    [`HTTP ${status} and a long message`, 'error', refused(status, () => ({ message: long('x') }))],
    [`HTTP ${status} and empty objects`, 'error', (received) => ({ ...written(emptyObjects)(received), status })],
  ],
)

type Way = readonly [name: string, sent: (client: Sender) => SentRequest]

const STATELESS: Way = ['from a stateless server', (client) => client.relayed('modern_echo', {})]
const OLDER: Way = ['from a session-era server', (client) => client.relayed('session_echo', {})]
/** Another call each time, because a call that waits does not begin again. */
const FOR_PEOPLE: Way = ['for people', (client) => client.ruled('modern_echo', { at: performance.now() })]
const TO_SESSION: Way = ['to a session', (client) => client.inSession('gateway', called('modern_echo'))]
const IN_SESSIONS: Way = ['between sessions', (client) => client.inSession('gateway', called('session_echo'))]
const PASSING: Way = ['that passes', (client) => client.passed({})]

const ofCall =
  (reply: Answering) =>
  (received: Received): Reply | undefined =>
    received.method === 'tools/call' ? reply(received) : undefined

const each = (
  shapes: readonly (readonly [what: string, answer: string, reply: Answering])[],
  ways: readonly Way[],
): readonly ServerShape[] =>
  shapes.flatMap(([what, answer, reply]) =>
    ways.map(([way, sent]): ServerShape => [`${what} ${way}`, answer, ofCall(reply), (client) => [sent(client)]]),
  )

const ASK = {
  method: 'elicitation/create',
  params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
}
const asking = (make: () => object): Answering => result(() => ({ resultType: 'input_required', ...make() }))
const schema = (properties: object) => ({
  ...ASK,
  params: { ...ASK.params, requestedSchema: { type: 'object', properties } },
})
const manyFields = () =>
  objectOf(4000, (index) => `${index}`.padEnd(300, 'k'), { type: 'string', title: 'x'.repeat(500) })

const QUESTIONS: readonly (readonly [what: string, answer: string, reply: Answering])[] = [
  ['20,000 questions', 'error', asking(() => ({ inputRequests: objectOf(20_000, (index) => `${index}`, ASK) }))],
  [
    'a hundred questions',
    '',
    asking(() => ({ inputRequests: objectOf(100, (index) => `${index}`.padEnd(200, 'q'), ASK) })),
  ],
  ['a question of many fields', '', asking(() => ({ inputRequests: { a: schema(manyFields()) } }))],
  [
    'a question with a long message',
    '',
    asking(() => ({ inputRequests: { a: { ...ASK, params: { ...ASK.params, message: long('x') } } } })),
  ],
  ['a question that nests deep', '', asking(() => ({ inputRequests: { a: schema({ a: nestedIn(110, 1) }) } }))],
  ['a question that nests too deep', '', asking(() => ({ inputRequests: { a: schema({ a: DEEP }) } }))],
  ['a question with a long key', '', asking(() => ({ inputRequests: { [long('k')]: ASK } }))],
  ['a question with a large state', '', asking(() => ({ inputRequests: { a: ASK }, requestState: long('A') }))],
]

const field = (properties: object): Answering => asking(() => ({ inputRequests: { a: schema(properties) } }))
const choices = (count: number, chars: number) =>
  Array.from({ length: count }, (_, index) => `${index}`.padEnd(chars, '&'))

/** Questions whose pages might stop the event loop. */
export const OF_PAGES: readonly (readonly [what: string, reply: ServerShape[2]])[] = [
  ['many fields', ofCall(field(objectOf(700, (index) => `${index}`.padEnd(60, '<'), { type: 'string' })))],
  ['too many fields', ofCall(field(objectOf(3000, String, {})))],
  ['many choices', ofCall(field({ one: { enum: choices(1900, 30) } }))],
  [
    'many boxes',
    ofCall(field({ all: { type: 'array', items: { enum: choices(900, 30) }, default: choices(900, 30) } })),
  ],
  ['titles of marks', ofCall(field(objectOf(40, String, { type: 'string', title: long('a\u0301', 1400) })))],
  ['a long text', ofCall(field({ a: { type: 'string', default: long('"', 30_000) } }))],
  [
    'a long message',
    ofCall(
      asking(() => ({ inputRequests: { a: { ...ASK, params: { ...ASK.params, message: long('\n', 30_000) } } } })),
    ),
  ],
]

const progress = (members: object) => ({ method: 'notifications/progress', params: { progress: 1, ...members } })
const log = (data: unknown) => ({ method: 'notifications/message', params: { level: 'error', data } })
const pushed = (id: unknown, asked: object) => event({ id, ...asked })

const STREAMS: readonly (readonly [what: string, answer: string, reply: Answering])[] = [
  ['10,000 notifications', '', stream(() => event(log('x')).repeat(10_000))],
  ['a large notification', '', stream(() => event(log(manyKeys())))],
  ['progress without a token', '', stream(() => event(progress({})).repeat(10_000))],
  ['a progress token', '', stream(() => event(progress({ progressToken: long('1') })))],
  ['a million empty lines', '', stream(() => '\n'.repeat(1_000_000))],
  ['a million comments', '', stream(() => ':\n'.repeat(1_000_000))],
  ['many ids of events', '', stream(() => `id: ${'1'.repeat(100)}\n`.repeat(30_000))],
  ['a long comment', '', stream(() => `: ${long('x')}\n\n`)],
  ['many lines of one event', '', stream(() => `${'data: \n'.repeat(500_000)}\n`)],
  ['an unknown answer', '', stream(() => event({ id: 'none', result: manyKeys() }))],
  ['1,000 unknown answers', '', stream(() => event({ id: 'none', result: {} }).repeat(1000))],
  ['900 requests', '', stream(() => Array.from({ length: 900 }, (_, id) => pushed(id, { method: 'ping' })).join(''))],
  ['a pushed question of many fields', '', stream(() => pushed('q', schema(manyFields())))],
  ['a pushed question that nests too deep', '', stream(() => pushed('q', schema({ a: DEEP })))],
]

let tokens = 0
/** With another token each time, so that the gateway reads the lists of the server again. */
const listing =
  (method: string, path: string, call?: object) =>
  (client: Sender): readonly SentRequest[] => {
    const headers = { authorization: `Bearer of list ${tokens++}` }
    const list = client.modern(path, method, {}, { headers })
    return call === undefined ? [list] : [list, client.modern(path, 'tools/call', call, { headers })]
  }
const tool = (index: number, more: object = {}) => ({ name: `t${index}`, inputSchema: { type: 'object' }, ...more })
const tools = (count: number, make: (index: number) => object) => () => ({
  tools: Array.from({ length: count }, (_, index) => make(index)),
})
/** Each token is listed something else, because the gateway keeps equal lists once. */
const onList =
  (list: string, make: () => Readonly<Record<string, readonly object[]>>) =>
  (received: Received): Reply | undefined => {
    if (received.method !== `${list}/list` || received.headers.authorization === undefined) return undefined
    const marked = Object.entries(make()).map(([name, [first, ...rest]]) => [
      name,
      [{ title: `${tokens}`, ...first }, ...rest],
    ])
    return result(() => Object.fromEntries(marked) as object)(received)
  }

const LISTS: readonly (readonly [what: string, list: string, make: Parameters<typeof onList>[1]])[] = [
  ['6,000 tools', 'tools', tools(6000, (index) => tool(index))],
  ['tools of long names', 'tools', tools(100, (index) => tool(index, { name: `${index}${long('_', 30_000)}` }))],
  ['tools of odd names', 'tools', tools(3000, (index) => tool(index, { name: `${index}${long(' é', 300)}` }))],
  ['a tool of a very long name', 'tools', tools(1, (index) => tool(index, { name: long('_a') }))],
  ['long descriptions', 'tools', tools(1000, (index) => tool(index, { description: long('does a thing ', 3500) }))],
  [
    'a schema of many members',
    'tools',
    tools(1, (index) => tool(index, { inputSchema: { type: 'object', properties: manyKeys() } })),
  ],
  [
    'schemas with many headers',
    'tools',
    tools(10, (index) =>
      tool(index, {
        inputSchema: {
          type: 'object',
          properties: objectOf(900, (key) => `k${key}`, { type: 'string', 'x-mcp-header': 'A' }),
        },
      }),
    ),
  ],
  [
    'a schema that nests deep',
    'tools',
    tools(100, (index) => tool(index, { inputSchema: { type: 'object', not: nestedIn(100, 1) } })),
  ],
  ['tools of one name', 'tools', tools(6000, () => tool(1))],
  [
    '20,000 prompts',
    'prompts',
    () => ({ prompts: Array.from({ length: 20_000 }, (_, index) => ({ name: `p${index}` })) }),
  ],
  [
    '20,000 resources',
    'resources',
    () => ({ resources: Array.from({ length: 20_000 }, (_, index) => ({ uri: `r:${index}`, name: 'r' })) }),
  ],
  [
    'long addresses',
    'resources',
    () => ({
      resources: Array.from({ length: 100 }, (_, index) => ({ uri: `r:${index}${long('/', 30_000)}`, name: 'r' })),
    }),
  ],
  [
    '20,000 templates',
    'resources/templates',
    () => ({
      resourceTemplates: Array.from({ length: 20_000 }, (_, index) => ({
        uriTemplate: `${'r'.repeat(index % 200)}${index}:{a}`,
        name: 'r',
      })),
    }),
  ],
]

const OF_LISTS = LISTS.map(([what, list, make]): ServerShape => {
  return [what, '', onList(list, make), listing(`${list}/list`, '/mcp')]
})

const find = (query: string) => listing('tools/list', '/views/found', { name: 'find_tools', arguments: { query } })

const OTHERS: readonly ServerShape[] = [
  [
    'words to search',
    'found',
    onList(
      'tools',
      tools(1000, (index) => tool(index, { description: long(`w${index} ab${index} `, 3500) })),
    ),
    find('w1 ab2'),
  ],
  [
    'Chinese to search',
    'found',
    onList(
      'tools',
      tools(600, (index) => tool(index, { description: long('字和', 1900) })),
    ),
    find('字和'),
  ],
  [
    'many messages of a prompt',
    'messages',
    result(() => ({
      messages: Array.from({ length: 3000 }, () => ({
        role: 'user',
        content: { type: 'text', text: 'x'.repeat(900) },
      })),
    })),
    (client) => [client.modern('/mcp', 'prompts/get', { name: 'modern_hail' })],
  ],
  [
    'a large resource',
    'contents',
    result(() => ({ contents: [{ uri: 'about://me', blob: long('QUJD') }] })),
    (client) => [client.inSession('gateway', message('resources/read', { uri: 't99://x' }))],
  ],
  [
    '20,000 completions',
    'completion',
    result(() => ({ completion: { values: manyTexts() } })),
    (client) => [
      client.modern('/mcp', 'completion/complete', {
        ref: { type: 'ref/prompt', name: 'modern_hail' },
        argument: { name: 'who', value: 'x' },
      }),
    ],
  ],
]

export const OF_SERVERS: readonly ServerShape[] = [
  ...each(RESULTS, [STATELESS, OLDER, TO_SESSION]),
  ...each(REFUSALS, [STATELESS, OLDER]),
  ...each(QUESTIONS, [STATELESS, TO_SESSION, FOR_PEOPLE]),
  ...each(STREAMS, [STATELESS, IN_SESSIONS, PASSING]),
  ...OF_LISTS,
  ...OTHERS,
]
