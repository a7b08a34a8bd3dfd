/** What clients of the session era send to a server. */
import { CHARS, deepLists, long, manyKeys, objectOf, wideKeys } from './large.ts'
import { called, HEADER_CHARS, message, type Shape } from './sender.ts'

export const TO_SESSION: readonly Shape[] = [
  ['many keys, in a session that is asked', 'id: ', (client) => client.inSession('asked', called('ask', wideKeys()))],
  [
    'deep lists, in a session that is asked',
    'id: ',
    (client) => client.inSession('asked', called('ask', { list: deepLists() })),
  ],
  [
    'a text, in a session that is asked',
    'id: ',
    (client) => client.inSession('asked', called('ask', { text: long('x') })),
  ],
  [
    'a text, in a session that echoes states',
    'id: ',
    (client) => client.inSession('echoing', called('ask', { text: long('x') })),
  ],
  [
    'a text with the largest state',
    '"state":',
    (client) => client.inSession('echoing', called('ask', { text: long('x', 1_000_000) })),
  ],
  ['keys, in a session that echoes states', 'id: ', (client) => client.inSession('echoing', called('ask', wideKeys()))],
  [
    'control characters, in a session that echoes states',
    'id: ',
    (client) => client.inSession('echoing', called('ask', { text: long('\u0001', CHARS / 6) })),
  ],
  [
    'a state with an answer',
    'error',
    (client) => client.answering('echoing', { result: { action: 'accept' }, state: long('AQ') }),
  ],
  [
    'a state of odd characters',
    'error',
    (client) => client.answering('echoing', { result: { action: 'accept' }, state: long('é', CHARS / 2) }),
  ],
  [
    'a state of many values',
    'error',
    (client) => client.answering('echoing', { result: { action: 'accept' }, state: manyKeys() }),
  ],
  ['an answer to nothing', '', (client) => client.answering('asked', { id: long('A', 1000), result: manyKeys() })],
  ['an error as an answer', '', (client) => client.answering('asked', { error: { code: 1, message: long('x') } })],
  [
    'many capabilities, to begin a session',
    'too large',
    (client) => client.initialize({ capabilities: { experimental: manyKeys() } }),
  ],
  ['the name of a client, to begin a session', 'too large', (client) => client.initialize({ client: long('x') })],
  ['a version, to begin a session', 'result', (client) => client.initialize({ version: long('2') })],
  ['a name', '1024 characters', (client) => client.inSession('asked', called(long('a_')))],
  [
    'an address',
    '8192 characters',
    (client) => client.inSession('asked', message('resources/read', { uri: `a://${long('-')}` })),
  ],
  [
    'an address to subscribe to',
    '8192 characters',
    (client) => client.inSession('asked', message('resources/subscribe', { uri: `a://${long('-')}` })),
  ],
  [
    'a log level',
    'log level',
    (client) => client.inSession('asked', message('logging/setLevel', { level: long('x') })),
  ],
  [
    'a cancellation',
    '',
    (client) => client.inSession('asked', message('notifications/cancelled', { requestId: long('A') })),
  ],
  ['a batch of one that asks', 'id: ', (client) => client.inSession('batches', `[${called('ask', wideKeys())}]`)],
  [
    'a batch of a hundred',
    'done',
    (client) => {
      const one = called(
        'plain',
        objectOf(80, (index) => `${index}`.padEnd(400, 'k'), 1),
      )
      return client.inSession('batches', `[${Array(100).fill(one).join()}]`)
    },
  ],
  [
    'a batch of too many',
    'error',
    (client) => client.inSession('batches', `[${Array(1600).fill(called('plain')).join()}]`),
  ],
  [
    'the id of a session',
    'no such session',
    (client) => client.inSession('asked', called('plain'), { 'mcp-session-id': long('A', HEADER_CHARS) }),
  ],
  ['a Last-Event-ID', 'error', (client) => client.resuming(long('A', 10_000))],
  ['a Last-Event-ID of separators', 'error', (client) => client.resuming(long('-', 10_000))],
]
