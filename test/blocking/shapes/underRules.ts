/** What clients of the stateless era send to a gateway with rules, a store of questions and an audit log. */
import { CHARS, deepLists, escapedKeys, long, manyKeys, manyTexts, namedTexts, numberKeys, wideKeys } from './large.ts'
import type { Sender, Shape } from './sender.ts'

/** Numbers that JSON has, and JavaScript does not. */
const beyond = (client: Sender, args: object) => {
  const request = client.ruled('modern_echo', { beyond: 'HERE', ...args })
  return { ...request, body: request.body.replace('"HERE"', '1e400') }
}

export const UNDER_RULES: readonly Shape[] = [
  ['many keys', 'said', (client) => client.ruled('modern_echo', manyKeys())],
  ['many keys for a session-era server', 'said', (client) => client.ruled('session_echo', manyKeys())],
  ['a text', 'said', (client) => client.ruled('modern_echo', { text: long('x') })],
  ['wide keys', 'said', (client) => client.ruled('modern_echo', wideKeys())],
  ['escaped keys', 'said', (client) => client.ruled('modern_echo', escapedKeys())],
  ['keys in another order', 'said', (client) => client.ruled('modern_echo', numberKeys())],
  ['named texts', 'said', (client) => client.ruled('modern_echo', namedTexts())],
  ['deep lists', 'said', (client) => client.ruled('modern_echo', { list: deepLists() })],
  ['control characters', 'said', (client) => client.ruled('modern_echo', { text: long('\u0001', CHARS / 6) })],
  ['a number beyond all', '', (client) => beyond(client, { texts: manyTexts() })],
  ['a number beyond all, and many keys', '', (client) => beyond(client, manyKeys())],
  ['a number beyond all, and quotes', '', (client) => beyond(client, { text: long('"', CHARS / 2) })],
  ['items that a rule reads', 'said', (client) => client.ruled('modern_echo', { items: Array(2000).fill({}) })],
  ['items that are too many for a rule', 'said', (client) => client.ruled('modern_echo', { items: manyTexts() })],
  [
    'names that a rule reads',
    'said',
    (client) => client.ruled('modern_echo', { names: [long('drop table', 100_000)] }),
  ],
  ['characters to approve', 'too long', (client) => client.ruled('modern_tool_2', { text: long('x') })],
  [
    'unseen characters to approve',
    'too long',
    (client) => client.ruled('modern_tool_2', { text: long('\u202e', CHARS / 3) }),
  ],
  ['keys to approve', 'too long', (client) => client.ruled('modern_tool_2', manyKeys())],
  ['keys that are not shown', 'waits', (client) => client.ruled('modern_tool_1', { region: 'x', ...numberKeys() })],
  ['a text that is not shown', 'waits', (client) => client.ruled('modern_tool_1', { region: 'x', text: long('x') })],
  ['a ticket', 'No call waits', (client) => client.ruled('continue_call', { ticket: long('gateway_call_') })],
]
