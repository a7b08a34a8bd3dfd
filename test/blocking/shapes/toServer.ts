/** What clients of the stateless era send to a server. */
import {
  CHARS,
  deepLists,
  escapedKeys,
  long,
  manyKeys,
  manyNumbers,
  manyObjects,
  manyTexts,
  namedTexts,
  nestedIn,
  numberKeys,
  objectOf,
  wideKeys,
  emptyObjects,
} from './large.ts'
import { HEADER_CHARS, message, type Sender, type Shape } from './sender.ts'

const REF = { type: 'ref/prompt', name: 'hail' }
const accepted = (content: object) => ({ inputResponses: { name: { action: 'accept', content } } })
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`
const meta = (client: Sender, members: Record<string, unknown>) => client.call('plain', {}, {}, { meta: members })
const listen = (client: Sender, notifications: object) =>
  client.modern('server', 'subscriptions/listen', { notifications })
const complete = (client: Sender, params: object) =>
  client.modern('server', 'completion/complete', { ref: REF, argument: { name: 'who', value: 'x' }, ...params })

const BODIES: readonly Shape[] = [
  [
    'a body of deep nesting',
    'nests deeper',
    (client) => client.withBody('['.repeat(CHARS / 2) + ']'.repeat(CHARS / 2)),
  ],
  ['a body of open objects', 'nests deeper', (client) => client.withBody(long('{"a":'))],
  ['a body of empty objects', 'keys and values', (client) => client.withBody(emptyObjects())],
  ['a body of spaces', 'in one place', (client) => client.withBody(`${long(' ')}1`)],
  ['a string without an end', 'not JSON', (client) => client.withBody(`{"a":"${long('\\"')}`)],
  ['many strings without ends', 'not JSON', (client) => client.withBody(long('"\\'))],
  ['bytes that are not UTF-8', 'UTF-8', (client) => client.withBody(Buffer.alloc(CHARS, 0xff))],
  ['a number of many digits', 'in one place', (client) => client.withText(long('1'))],
  ['many long numbers', 'done', (client) => client.withText(`[${long(`${'1'.repeat(9_000)},`)}1]`)],
  ['a text of halves of characters', 'done', (client) => client.withText(`"${long('\\ud800')}"`)],
]

const ARGUMENTS: readonly Shape[] = [
  ['many keys', 'done', (client) => client.call('plain', manyKeys())],
  ['keys that are not ASCII', 'done', (client) => client.call('plain', wideKeys())],
  ['keys with escapes', 'done', (client) => client.call('plain', escapedKeys())],
  ['keys that are numbers', 'done', (client) => client.call('plain', numberKeys())],
  ['more keys than are read', 'keys and values', (client) => client.call('plain', { a: manyKeys(), b: numberKeys() })],
  ['many texts', 'done', (client) => client.call('plain', { list: manyTexts() })],
  ['many numbers', 'done', (client) => client.call('plain', { list: manyNumbers() })],
  ['deep lists', 'done', (client) => client.call('plain', { list: deepLists() })],
  ['a long text', 'done', (client) => client.call('plain', { text: long('x') })],
  ['control characters', 'done', (client) => client.call('plain', { text: long('\u0001', CHARS / 6) })],
  ['quotes', 'done', (client) => client.call('plain', { text: long('"', CHARS / 2) })],
  ['Chinese', 'done', (client) => client.call('plain', { text: long('字', CHARS / 3) })],
  ['a text that a state is bound to', 'input_required', (client) => client.call('ask', { text: long('x') })],
  ['quotes that a state is bound to', 'input_required', (client) => client.call('ask', { text: long('"', CHARS / 2) })],
  ['keys that a state is bound to', 'input_required', (client) => client.call('ask', manyKeys())],
  ['wide keys that a state is bound to', 'input_required', (client) => client.call('ask', wideKeys())],
  ['escaped keys that a state is bound to', 'input_required', (client) => client.call('ask', escapedKeys())],
  ['deep lists that a state is bound to', 'input_required', (client) => client.call('ask', { list: deepLists() })],
  ['keys that a step records', 'too large', (client) => client.call('keep', wideKeys())],
  ['a text that a step records', 'too large', (client) => client.call('keep', { text: long('x') })],
  ['keys that a claim is about', 'done', (client) => client.call('once', wideKeys())],
  ['keys for a task', 'taskId', (client) => client.call('job', manyKeys())],
  ['a text for a task', 'taskId', (client) => client.call('job', { text: long('x') })],
]

const SCHEMAS: readonly Shape[] = [
  ['keys that a schema looks at', 'done', (client) => client.call('strict', manyKeys())],
  ['unique objects', 'done', (client) => client.call('strict', { unique: manyObjects() })],
  ['unique deep lists', 'duplicate', (client) => client.call('strict', { unique: deepLists() })],
  ['unique texts', 'done', (client) => client.call('strict', { unique: manyTexts() })],
  ['a text that hardly fits a pattern', 'pattern', (client) => client.call('strict', { list: `${long('ab,')}!` })],
  [
    'what is hardly a date',
    'isError',
    (client) => client.call('strict', { when: `2026-01-01T00:00:00.${long('0')}X` }),
  ],
  ['what is hardly an email address', 'isError', (client) => client.call('strict', { mail: `${long('a.')}@` })],
  ['an email address of many hyphens', 'isError', (client) => client.call('strict', { mail: `a@${long('a-')}` })],
  ['what is hardly an address', 'isError', (client) => client.call('strict', { link: `http://${long('%')}` })],
  ['what is hardly one of many', 'isError', (client) => client.call('strict', { one: long('0') })],
]

const NAMES: readonly Shape[] = [
  ['a name that its header does not have', 'header differs', (client) => client.call(long('a_'), {})],
  ['a name as long as a header', '1024 characters', (client) => client.call(long('a_', 7000), {})],
  [
    'a name in base64',
    '1024 characters',
    (client) => client.call(long('é', 4000), {}, {}, { headers: { 'mcp-name': base64(long('é', 4000)) } }),
  ],
  [
    'the name of a prompt',
    '1024 characters',
    (client) => client.modern('server', 'prompts/get', { name: long('_', 7000) }),
  ],
  [
    'an address',
    '8192 characters',
    (client) => client.modern('server', 'resources/read', { uri: `a://${long('-', 9000)}` }),
  ],
  [
    'an address of escapes',
    'no such resource',
    (client) => client.modern('server', 'resources/read', { uri: `a://${long('%41-', 7000)}/%` }),
  ],
  [
    'the id of a task',
    '4096 characters',
    (client) => client.modern('server', 'tasks/get', { taskId: long('A', 7000) }),
  ],
  [
    'answers for an unknown task',
    'error',
    (client) => client.modern('server', 'tasks/update', { taskId: 'none', inputResponses: manyKeys() }),
  ],
  ['a cursor', '4096 characters', (client) => client.modern('server', 'tools/list', { cursor: `tools-${long('1')}` })],
  [
    'a template to complete',
    '8192 characters',
    (client) => complete(client, { ref: { type: 'ref/resource', uri: long('{+a}') } }),
  ],
  ['a value to complete', 'values', (client) => complete(client, { argument: { name: 'who', value: long('x') } })],
  ['values that were chosen', 'values', (client) => complete(client, { context: { arguments: namedTexts() } })],
  ['an id', 'error', (client) => client.call('plain', {}, {}, { id: long('1') })],
  ['a method', 'error', (client) => client.withBody(message(long('m/'), {}))],
  ['many addresses to listen to', 'error', (client) => listen(client, { resourceSubscriptions: manyTexts() })],
  ['many tasks to listen to', 'error', (client) => listen(client, { taskIds: manyTexts() })],
  ['an address to listen to', 'error', (client) => listen(client, { resourceSubscriptions: [long('a:')] })],
]

const META_MEMBERS: readonly Shape[] = [
  ['a progress token', 'done', (client) => meta(client, { progressToken: long('1') })],
  ['many members of _meta', 'done', (client) => meta(client, manyKeys())],
  ['many capabilities', 'done', (client) => meta(client, { 'io.modelcontextprotocol/clientCapabilities': manyKeys() })],
  [
    'the name of a client',
    'done',
    (client) => meta(client, { 'io.modelcontextprotocol/clientInfo': { name: long('x'), version: '1' } }),
  ],
  ['a log level', 'log level', (client) => meta(client, { 'io.modelcontextprotocol/logLevel': long('x') })],
  ['a version', 'error', (client) => meta(client, { 'io.modelcontextprotocol/protocolVersion': long('x') })],
  [
    'a trace',
    'done',
    (client) => meta(client, { traceparent: long('0-', CHARS / 2), baggage: long('a=b,', CHARS / 2) }),
  ],
]

const STATES: readonly Shape[] = [
  ['a forged state', 'error', (client) => client.call('ask', {}, { requestState: long('A') })],
  [
    'a forged state of the size of a true one',
    'error',
    (client) => client.call('ask', {}, { requestState: long('AQ', 65_000) }),
  ],
  [
    'a forged state of odd characters',
    'error',
    (client) => client.call('ask', {}, { requestState: long('é', CHARS / 2) }),
  ],
  ['many answers', 'input_required', (client) => client.call('ask', {}, { inputResponses: manyKeys() })],
  ['an answer of many members', 'input_required', (client) => client.call('ask', {}, accepted(manyKeys()))],
  ['an answer', 'input_required', (client) => client.call('ask', {}, accepted({ name: long('x') }))],
]

const HEADERS: readonly Shape[] = [
  ['many headers', 'done', (client) => client.withHeaders(objectOf(900, (index) => `h${index}`, '1'))],
  [
    'one header many times',
    'error',
    (client) => client.withHeaders({ 'mcp-name': Array.from({ length: 900 }, () => 'a') }),
  ],
  ['an Origin', 'error', (client) => client.withHeaders({ origin: `http://${long('a.', HEADER_CHARS)}` })],
  ['an Accept', 'error', (client) => client.withHeaders({ accept: long('text/x;q=0.1, ', HEADER_CHARS) })],
  [
    'a Content-Type',
    'error',
    (client) => client.withHeaders({ 'content-type': `application/json${long(' ', HEADER_CHARS)}x` }),
  ],
  [
    'a parameter in a header',
    'done',
    (client) => {
      const region = long('é', 4000)
      return client.call('mirrored', { region }, {}, { headers: { 'mcp-param-region': base64(region) } })
    },
  ],
  [
    'a token',
    'error',
    (client) => client.withHeaders({ authorization: `Bearer ${long('A', HEADER_CHARS)}` }, 'guarded'),
  ],
  [
    'a token of many parts',
    'error',
    (client) => client.withHeaders({ authorization: `Bearer ${long('e30.', HEADER_CHARS)}` }, 'guarded'),
  ],
  [
    'a token whose head is deep',
    'error',
    (client) => {
      const head = Buffer.from(JSON.stringify({ alg: 'HS256', x: nestedIn(2000, 1) })).toString('base64url')
      return client.withHeaders({ authorization: `Bearer ${head}.e30.AA` }, 'guarded')
    },
  ],
  [
    'a token of spaces',
    'error',
    (client) => client.withHeaders({ authorization: `Bearer${long(' ', HEADER_CHARS)}x` }, 'guarded'),
  ],
]

export const TO_SERVER: readonly Shape[] = [
  ...BODIES,
  ...ARGUMENTS,
  ...SCHEMAS,
  ...NAMES,
  ...META_MEMBERS,
  ...STATES,
  ...HEADERS,
]
