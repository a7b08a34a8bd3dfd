import { SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { ClientError } from './errors.ts'
import { firstWay, mostTelling, nextWay } from './ways.ts'

const http = (status: number, code = SdkErrorCode.ClientHttpNotImplemented) =>
  new SdkHttpError(code, 'No.', { status, statusText: '', text: '' })
const probe = (cause: unknown) => new SdkError(SdkErrorCode.EraNegotiationFailed, 'No.', { cause }, { cause })
const network = (code: string) =>
  Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(), { code }) })
const late = new SdkError(SdkErrorCode.RequestTimeout, 'Late.')

test('the first way is the era that was chosen, then what is known from before', () => {
  expect(firstWay('sse', { kind: 'legacy' })).toBe('sse')
  expect(firstWay(undefined, { kind: 'legacy' })).toBe('session')
  expect(firstWay(undefined, undefined)).toBe('ask')
})

describe('over HTTP, the next way after', () => {
  test.each([
    ['ask', 'a 500 to the probe', http(500, SdkErrorCode.EraNegotiationFailed), 'session'],
    ['ask', 'an unusable reply to the probe', probe(new SyntaxError('no JSON')), 'session'],
    ['ask', 'no reply to the probe', late, 'session'],
    ['ask', 'a connection that was cut', probe(network('ECONNRESET')), 'session'],
    ['ask', 'a port where nobody listens', probe(network('ECONNREFUSED')), undefined],
    ['ask', 'a 401', http(401), undefined],
    ['ask', 'a 429', http(429), undefined],
    ['ask', 'a 404 to initialize', http(404), 'sse'],
    ['session', 'a 405', http(405), 'sse'],
    ['session', 'no reply', late, undefined],
    ['session', 'an error of our own', new ClientError('JAR_UNAVAILABLE', 'No jar.'), undefined],
    ['sse', 'a 404', http(404), undefined],
    ['stateless', 'a 404', http(404), undefined],
  ] as const)('%s with %s', (way, _, error, next) => {
    expect(nextWay({ way, error, isProcess: false, hasEnded: false })).toBe(next)
  })
})

test.each([
  [true, 'session'],
  [false, undefined],
])('a process that failed at the probe is started again where it has ended: %s', (hasEnded, next) => {
  expect(nextWay({ way: 'ask', error: probe(new Error('closed')), isProcess: true, hasEnded })).toBe(next)
})

test.each([
  [404, 'session'],
  [401, 'sse'],
] as const)('after a %s over HTTP+SSE the error of %s is told', (status, told) => {
  const http405 = { way: 'session', error: http(405), isProcess: false, hasEnded: false } as const
  const sse = { way: 'sse', error: http(status), isProcess: false, hasEnded: false } as const
  expect(mostTelling([http405, sse])?.way).toBe(told)
})
