import { expect, test } from 'vitest'
import { answerHeadersOf, requestHeadersOf } from './headers.ts'

const PLAIN = ['accept-encoding', 'identity']
const ACCEPT = ['accept', 'application/json, text/event-stream', ...PLAIN]

test.each<[string, string[], Record<string, string> | undefined, string[]]>([
  [
    'those of the protocol pass, in any spelling',
    ['MCP-Method', 'a', 'mcp-param-x', 'b'],
    undefined,
    ['mcp-method', 'a', 'mcp-param-x', 'b', ...ACCEPT],
  ],
  [
    'those of traces pass',
    ['traceparent', 'a', 'Baggage', 'b'],
    undefined,
    ['traceparent', 'a', 'baggage', 'b', ...ACCEPT],
  ],
  ['what tells who called does not', ['Authorization', 'a', 'Cookie', 'b', 'X-Forwarded-For', 'c'], undefined, ACCEPT],
  [
    'what is of a connection does not',
    ['Connection', 'mcp-x', 'Transfer-Encoding', 'chunked', 'Host', 'h', 'Content-Length', '1'],
    undefined,
    ACCEPT,
  ],
  ['a session of the gateway does not', ['Mcp-Session-Id', 'a'], undefined, ACCEPT],
  [
    'what the caller accepts passes',
    ['Accept', 'application/json'],
    undefined,
    ['accept', 'application/json', ...PLAIN],
  ],
  [
    'a value may be the name of another header',
    ['mcp-a', 'mcp-b', 'Mcp-B', '2'],
    undefined,
    ['mcp-a', 'mcp-b', 'mcp-b', '2', ...ACCEPT],
  ],
  ["the entry's own are added", [], { Authorization: 'own' }, [...ACCEPT, 'Authorization', 'own']],
  [
    "the entry's own replace those of the caller",
    ['baggage', 'a', 'Accept', 'x'],
    { Baggage: 'own', ACCEPT: 'y' },
    [...PLAIN, 'Baggage', 'own', 'ACCEPT', 'y'],
  ],
])('toward a server, %s', (_, raw, own, expected) => {
  expect(requestHeadersOf(raw, own)).toEqual(expected)
})

test('a header of the protocol that comes twice is refused', () => {
  expect(() => requestHeadersOf(['mcp-a', '1', 'accept', '*/*', 'Mcp-A', '1'])).toThrow(
    'The mcp-a header comes more than once.',
  )
})

test.each<[string, Record<string, string | string[]>, string[]]>([
  [
    'type, length and caching pass',
    { 'content-type': 'a', 'content-length': '1', 'cache-control': 'c' },
    ['content-type', 'a', 'content-length', '1', 'cache-control', 'c'],
  ],
  ['when to come back passes', { 'retry-after': '3' }, ['retry-after', '3']],
  ['several values pass', { 'mcp-a': ['1', '2'] }, ['mcp-a', '1', 'mcp-a', '2']],
  [
    'cookies, challenges and places do not',
    { 'set-cookie': ['a'], 'www-authenticate': 'b', location: 'c', 'access-control-allow-origin': '*' },
    [],
  ],
  [
    'sessions and connections do not',
    { 'mcp-session-id': 'a', connection: 'close', 'keep-alive': 'timeout=5', 'transfer-encoding': 'chunked' },
    [],
  ],
  [
    'what cannot be sent does not',
    { 'mcp-a': 'line\nbreak', 'mcp-b': '\ufffd', 'mcp-c': '\u00e4' },
    ['mcp-c', '\u00e4'],
  ],
])('toward a caller, %s', (_, given, expected) => {
  expect(answerHeadersOf(given)).toEqual(expected)
})
