import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ClientError } from './errors.ts'
import { responseIn, sendFailure } from './failureReason.ts'

const network = new TypeError('fetch failed', { cause: Object.assign(new Error('secret'), { code: 'UND_ERR_SOCKET' }) })
const http = (status: number) => new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'secret', { status })

test.each<[string, unknown, string, RegExp]>([
  ['a connection that was cut', network, 'STREAM_ENDED', /the connection was cut/],
  ['another failure of fetch', new TypeError('secret'), 'STREAM_ENDED', /could not be made/],
  ['no JSON', new SyntaxError('secret'), 'MESSAGE_UNREADABLE', /not an MCP message/],
  ['no message', z.string().safeParse(1).error, 'MESSAGE_UNREADABLE', /not an MCP message/],
  ['a refused credential', http(401), 'AUTHORIZATION_FAILED', /refuses access/],
  ['a login that failed', new UnauthorizedError('secret'), 'AUTHORIZATION_FAILED', /refuses access/],
])('%s has a code and a sentence', (_, error, code, sentence) => {
  const failure = sendFailure(error)
  expect(failure).toMatchObject({ code, message: expect.stringMatching(sentence), cause: error })
  expect((failure as Error).message).not.toContain('secret')
})

const refused = (text: string) => new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'no', { status: 401, text })

test.each<[string, unknown, string]>([
  [
    'a missing scope',
    new InsufficientScopeError({ requiredScope: 'read write', errorDescription: 'This tool writes.' }),
    'The server refuses access: "This tool writes." Get a token with the scopes "read write".',
  ],
  [
    'a missing scope without words',
    new InsufficientScopeError({}),
    'The server refuses access. Check the bearer token or header, or log in with OAuth.',
  ],
  [
    'an expired token, said as JSON-RPC',
    refused('{"jsonrpc":"2.0","error":{"code":-32600,"message":"The token\\u001b[2J has\\nexpired."}}'),
    'The server refuses access: "The token\ufffd[2J has expired." Check the bearer token or header, or log in with OAuth.',
  ],
  [
    'an expired token, said as OAuth does',
    refused('{"error":"invalid_token","error_description":"Token has expired"}'),
    'The server refuses access: "Token has expired" Check the bearer token or header, or log in with OAuth.',
  ],
  [
    'a token that is quoted',
    refused(`{"error":{"message":"No: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2ln"}}`),
    'The server refuses access: "No: [hidden]" Check the bearer token or header, or log in with OAuth.',
  ],
  ['a page', refused('<html>No'), 'The server refuses access. Check the bearer token or header, or log in with OAuth.'],
])("%s is told in the server's own words", (_, error, message) => {
  expect(sendFailure(error)).toMatchObject({ code: 'AUTHORIZATION_FAILED', message, cause: error })
})

test.each([
  ['an error of ours', new ClientError('CONFIG_INVALID', 'no')],
  ["the SDK's", new SdkError(SdkErrorCode.NotConnected, 'gone')],
  ["the server's, whatever it says of itself", new ProtocolError(-1, 'no', { status: 401, cause: { code: 'EPIPE' } })],
  ['one that nobody knows', new Error('no')],
])('%s stays what it is', (_, error) => {
  expect(sendFailure(error)).toBe(error)
})

test('a page of the server is no part of what is said, and the rest stays', () => {
  const error = http(500)
  const failure = sendFailure(error)
  expect(failure).toBeInstanceOf(SdkHttpError)
  expect(failure).toMatchObject({ message: 'The server answered HTTP 500.', code: error.code, status: 500 })
})

const status = (text: string | undefined, code = 404) =>
  new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'no', { status: code, ...(text !== undefined && { text }) })
const refusal = { jsonrpc: '2.0', id: 7, error: { code: -32601, message: 'No such method.', data: { a: 1 } } }

test('an answer that came with the status of an error is an answer', () => {
  expect(responseIn(status(JSON.stringify(refusal)), 7)).toEqual(refusal)
})

test.each([
  ['to another request', status(JSON.stringify(refusal)), 8],
  ['to nobody', status(JSON.stringify({ ...refusal, id: null })), 7],
  ['that is no error', status(JSON.stringify({ jsonrpc: '2.0', id: 7, result: {} })), 7],
  ['with an error that is none', status(JSON.stringify({ id: 7, error: { code: 'no', message: 'no' } })), 7],
  ['in a page', status('<html>'), 7],
  ['without words', status(undefined), 7],
  ['at a refused credential', status(JSON.stringify(refusal), 401), 7],
  ['of a network', new TypeError('fetch failed'), 7],
])('%s there is none', (_, error, id) => {
  expect(responseIn(error, id)).toBeUndefined()
})
