/** What clients of both eras send to a gateway. */
import { CHARS, deepLists, emptyObjects, escapedKeys, long, manyKeys, wideKeys } from './large.ts'
import { called, HEADER_CHARS, message, type Sender, type Shape } from './sender.ts'

const completed = (client: Sender, ref: object) =>
  client.modern('/mcp', 'completion/complete', { ref, argument: { name: 'who', value: 'x' } })
const found = (client: Sender, query: string) => client.finding('find_tools', { query })
const LISTENS = { 'mcp-method': 'subscriptions/listen' }

const NAMES: readonly Shape[] = [
  ['a name of separators', '1024 characters', (client) => client.relayed(long('_', 7000), {})],
  ['a name of separators of the most characters', 'no tool', (client) => client.relayed(long('_', 1024), {})],
  ['a name of prefixes', 'no tool', (client) => client.relayed(long('modern_', 1024), {})],
  ['a name of separators in a session', '1024 characters', (client) => client.inSession('gateway', called(long('_')))],
  [
    'a prompt in a session',
    '1024 characters',
    (client) => client.inSession('gateway', message('prompts/get', { name: long('_') })),
  ],
  ['a prompt to complete', '1024 characters', (client) => completed(client, { type: 'ref/prompt', name: long('_') })],
  [
    'a template to complete',
    '8192 characters',
    (client) => completed(client, { type: 'ref/resource', uri: long('t1://') }),
  ],
  [
    'an address that names a server',
    '8192 characters',
    (client) => client.inSession('gateway', message('resources/read', { uri: `pannier://${long('%41')}/x` })),
  ],
  [
    'an address of the most characters',
    'error',
    (client) => client.inSession('gateway', message('resources/read', { uri: `pannier://${long('%41', 8000)}/x` })),
  ],
  [
    'an address of a template',
    'contents',
    (client) => client.inSession('gateway', message('resources/read', { uri: `t99://${long('-', 8000)}` })),
  ],
  [
    'an address to subscribe to',
    '8192 characters',
    (client) => client.inSession('gateway', message('resources/subscribe', { uri: `t99://${long('-')}` })),
  ],
  [
    'the id of a task',
    '4096 characters',
    (client) => client.modern('/mcp', 'tasks/get', { taskId: long('%41.', 7000) }),
  ],
]

const SEARCHES: readonly Shape[] = [
  ['a query', '1000 characters', (client) => found(client, long('a b '))],
  ['a query of capitals', '1000 characters', (client) => found(client, long('aB'))],
  ['a query of Chinese', '1000 characters', (client) => found(client, long('字', CHARS / 3))],
  ['a query of capitals of the most characters', 'found', (client) => found(client, long('aB', 1000))],
  ['a query of Chinese of the most characters', 'found', (client) => found(client, long('字和', 1000))],
  [
    'a query of words that begin many others',
    'found',
    (client) => found(client, long('doe the thi wit rep fil mes iss too ', 1000)),
  ],
  ['a name to describe', '1000 characters', (client) => client.finding('describe_tool', { name: long('aB_') })],
  ['a name to call', '1000 characters', (client) => client.finding('call_tool', { name: long('_') })],
]

const CALLS: readonly Shape[] = [
  [
    'an argument that becomes a header',
    '8192 characters',
    (client) => client.inSession('gateway', called('modern_mirrored', { region: long('é', CHARS / 2) })),
  ],
  [
    'an argument that becomes a header of the most characters',
    'said',
    (client) => client.inSession('gateway', called('modern_mirrored', { region: long('é', 4000) })),
  ],
  ['many keys', 'said', (client) => client.relayed('modern_echo', manyKeys())],
  ['wide keys', 'said', (client) => client.relayed('modern_echo', wideKeys())],
  ['escaped keys', 'said', (client) => client.relayed('modern_echo', escapedKeys())],
  ['deep lists', 'said', (client) => client.relayed('modern_echo', { list: deepLists() })],
  ['a text', 'said', (client) => client.relayed('modern_echo', { text: long('x') })],
  ['quotes', 'said', (client) => client.relayed('modern_echo', { text: long('"', CHARS / 2) })],
  ['many keys in a session', 'said', (client) => client.inSession('gateway', called('modern_echo', manyKeys()))],
  ['a text in a session', 'said', (client) => client.inSession('gateway', called('modern_echo', { text: long('x') }))],
  ['many keys for a session-era server', 'said', (client) => client.relayed('session_echo', manyKeys())],
  ['a text for a session-era server', 'said', (client) => client.relayed('session_echo', { text: long('x') })],
  [
    'control characters for a session-era server',
    'said',
    (client) => client.relayed('session_echo', { text: long('\u0001', CHARS / 6) }),
  ],
  [
    'many keys between two of the session era',
    'said',
    (client) => client.inSession('gateway', called('session_echo', manyKeys())),
  ],
  [
    'many members of _meta',
    'said',
    (client) => client.modern('/mcp', 'tools/call', { name: 'modern_echo' }, { meta: manyKeys() }),
  ],
  [
    'a progress token',
    'said',
    (client) => client.modern('/mcp', 'tools/call', { name: 'session_echo' }, { meta: { progressToken: long('1') } }),
  ],
  [
    'a forged state for a session-era server',
    'error',
    (client) => client.relayed('session_echo', {}, { requestState: long('AQ') }),
  ],
  [
    'a state for a stateless server',
    'said',
    (client) => client.relayed('modern_echo', {}, { requestState: long('A') }),
  ],
  [
    'many answers for a stateless server',
    'said',
    (client) => client.relayed('modern_echo', {}, { inputResponses: manyKeys() }),
  ],
  [
    'many answers for a session-era server',
    'said',
    (client) => client.relayed('session_echo', {}, { inputResponses: manyKeys() }),
  ],
  [
    'many gateways on the way',
    'said',
    (client) =>
      client.modern(
        '/mcp',
        'tools/call',
        { name: 'modern_echo' },
        { headers: { 'pannier-via': long('a,', HEADER_CHARS) } },
      ),
  ],
  [
    'a token for lists',
    'tools',
    (client) =>
      client.modern('/mcp', 'tools/list', {}, { headers: { authorization: `Bearer ${long('A', HEADER_CHARS)}` } }),
  ],
]

const PASSED: readonly Shape[] = [
  ['a text that passes', 'said', (client) => client.passed({ text: long('x') })],
  ['a text with the word state', 'said', (client) => client.passed({ text: long('state ') })],
  ['a text that looks like client-side state', 'said', (client) => client.passed({ text: long('client-state') })],
  ['many keys where calls are read', 'said', (client) => client.passed(manyKeys(), {}, '/mcp/read')],
  ['many keys that claim to listen', 'error', (client) => client.passed(manyKeys(), LISTENS)],
  [
    'empty objects that claim to listen',
    'error',
    (client) => ({ ...client.passed({}, LISTENS), body: `{"a":${emptyObjects()}}` }),
  ],
  ['a batch', 'no batches', (client) => ({ ...client.passed({}), body: `[${client.passed({}).body}]` })],
  [
    'a batch after spaces',
    'no batches',
    (client) => ({ ...client.passed({}), body: ` \r\n\t[${client.passed({}).body}]` }),
  ],
  [
    'a batch of many',
    'error',
    (client) => ({ ...client.passed({}), body: `[${Array(5000).fill(client.passed({}).body).join()}]` }),
  ],
]

export const TO_GATEWAY: readonly Shape[] = [...NAMES, ...SEARCHES, ...CALLS, ...PASSED]
