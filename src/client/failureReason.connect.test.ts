import { SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { connectFailure } from './failureReason.ts'
import { ClientError } from './errors.ts'

const attempt = { name: 'https://a.example/mcp', timeoutMs: 2_000, ended: undefined }

const probe = (cause: unknown) => new SdkError(SdkErrorCode.EraNegotiationFailed, 'Probe failed: secret', { cause })
const network = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error('secret'), { code }) })
const http = (status: number, text = 'secret') =>
  new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'secret', { status, text })
const limited = (message: string) => http(429, JSON.stringify({ jsonrpc: '2.0', error: { code: -32600, message } }))
const start = (code: string) => Object.assign(new Error('spawn secret'), { code, syscall: 'spawn secret' })

test.each<[string, unknown, string, RegExp]>([
  ['a closed port', probe(network('ECONNREFUSED')), 'CONNECT_FAILED', /nothing listens there/],
  [
    'a port of another protocol',
    await fetch('http://127.0.0.1:1').catch((error: unknown) => error),
    'CONNECT_FAILED',
    /this port/,
  ],
  ['an unknown host', network('ENOTFOUND'), 'CONNECT_FAILED', /no such host/],
  ['several addresses', network('x'), 'CONNECT_FAILED', /could not be made/],
  [
    'several addresses, all closed',
    new TypeError('fetch failed', {
      cause: new AggregateError([Object.assign(new Error(), { code: 'ECONNREFUSED' })]),
    }),
    'CONNECT_FAILED',
    /nothing listens/,
  ],
  ['a plain server', network('ERR_SSL_WRONG_VERSION_NUMBER'), 'CONNECT_FAILED', /write http:/],
  ['a bad certificate', network('DEPTH_ZERO_SELF_SIGNED_CERT'), 'CONNECT_FAILED', /self-signed/],
  ['no program', start('ENOENT'), 'CONNECT_FAILED', /no such program/],
  ['silence', new SdkError(SdkErrorCode.RequestTimeout, 'secret'), 'CONNECT_FAILED', /within 2 s/],
  ['another path', http(404), 'CONNECT_FAILED', /no MCP endpoint at this path \(HTTP 404\)/],
  ['a broken server', http(500), 'CONNECT_FAILED', /answers HTTP 500/],
  ['a limit', limited('Try again\nin 59 s.'), 'CONNECT_FAILED', /\(HTTP 429\): "Try again in 59 s\."$/],
  ['a limit that quotes a token', limited(`No ${'secret'.repeat(6)}.`), 'CONNECT_FAILED', /: "No \[hidden\]/],
  ['a limit without a word', http(429), 'CONNECT_FAILED', /\(HTTP 429\); try again later\.$/],
  ['an odd success', http(299), 'CONNECT_FAILED', /answers HTTP 299/],
  ['the first redirect', http(300), 'CONNECT_FAILED', /redirects to another host/],
  ['the last redirect', http(399), 'CONNECT_FAILED', /redirects to another host/],
  ['a request that is refused', http(400), 'CONNECT_FAILED', /answers HTTP 400/],
  ['another method', http(405), 'CONNECT_FAILED', /no MCP endpoint at this path \(HTTP 405\)/],
  ['another host', http(307), 'CONNECT_FAILED', /redirects to another host/],
  ['something else', new SdkError(SdkErrorCode.EraNegotiationFailed, 'secret'), 'CONNECT_FAILED', /does not speak MCP/],
  ['no credentials', http(401), 'AUTHORIZATION_FAILED', /refuses access/],
  ['not allowed', http(403), 'AUTHORIZATION_FAILED', /refuses access/],
  ['a login that failed', probe(new UnauthorizedError('secret')), 'AUTHORIZATION_FAILED', /refuses access/],
])('%s', (_, error, code, sentence) => {
  const failure = connectFailure(error, attempt)
  expect(failure).toMatchObject({ code, message: expect.stringMatching(sentence), cause: error })
  expect(failure.message).not.toContain('secret')
})

test('how a process ended is said, and an error of ours stays what it is', () => {
  const ended = { ...attempt, ended: 'its process ended with exit code 1.' }
  expect(connectFailure(new SdkError(SdkErrorCode.ConnectionClosed, ''), ended).message).toMatch(/exit code 1/)
  const ours = new ClientError('CONFIG_INVALID', 'no')
  expect(connectFailure(ours, attempt)).toBe(ours)
})
