import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { afterEach, expect, test, vi } from 'vitest'
import { ClientError } from './errors.ts'
import { reachedNobody, Retries, retryAfterFetch, retryAfterMsIn, retryAfterMsOf } from './retries.ts'

afterEach(() => void vi.restoreAllMocks())

const http = (status: number) => new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'x', { status, text: '' })
const coded = (code: unknown) => Object.assign(new Error('x'), { code })
const cut = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })

test.each<[string, boolean, unknown]>([
  ['a connection that was cut', true, cut],
  ['a balancer that found nobody', true, http(502)],
  ['a server that cannot work now', true, http(503)],
  ['a balancer that waited in vain', true, http(504)],
  ['a server that failed', false, http(500)],
  ['the same with version 1 of the SDK', true, coded(503)],
  ['a refusal with version 1 of the SDK', false, coded(400)],
  ['a JSON-RPC error, whose number is no status', false, coded(-32603)],
  ['a number below all statuses of errors', true, Object.assign(cut, { code: 399 })],
  [
    'a cut connection that says it was refused',
    false,
    Object.assign(new TypeError('x', { cause: cut.cause }), { code: 400 }),
  ],
  ['a stream that ended without a word', true, new ClientError('STREAM_ENDED', 'x', { cause: cut })],
  ['an error of ours', false, new ClientError('CONFIG_INVALID', 'x', { cause: cut })],
])('%s reached nobody: %s', (_, expected, error) => {
  expect(reachedNobody(error)).toBe(expected)
})

test('pauses grow, are as long as the server wishes up to five seconds, and end after ten', () => {
  let now = 1000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  const retries = new Retries()
  const [first = 0, second = 0] = [retries.nextPauseMs(), retries.nextPauseMs()]
  expect(first).toBeGreaterThan(0)
  expect(second).toBeGreaterThan(first)
  expect([retries.nextPauseMs(3000), retries.nextPauseMs(60_000)]).toEqual([3000, 5000])
  now += 9_999
  expect(retries.nextPauseMs()).toBeGreaterThan(0)
  now += 1
  expect(retries.nextPauseMs()).toBeUndefined()
})

test.each([
  [undefined, 0],
  ['0', 0],
  [' 2 ', 2000],
  ['soon', 0],
  ['Thu, 01 Jan 1970 00:00:05 GMT', 4000],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
])('Retry-After: %s, a second after 1970 began, is a wait of %i ms', (value, ms) => {
  vi.spyOn(Date, 'now').mockReturnValue(1000)
  const headers = value === undefined ? {} : { 'retry-after': value }
  expect(retryAfterMsOf(new Response(null, { status: 503, headers }))).toBe(ms)
})

test('a response that demands a wait is an error that has it, and any other is passed on', async () => {
  const answering = (status: number, headers = { 'retry-after': '2' }) =>
    retryAfterFetch(async () => new Response('busy', { status, headers }))
  const error: unknown = await answering(503)('http://a', { method: 'POST' }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ data: { status: 503, text: 'busy', retryAfterMs: 2000 } })
  expect([retryAfterMsIn(error), retryAfterMsIn(http(503)), retryAfterMsIn(cut)]).toEqual([2000, 0, 0])
  expect((await answering(503)('http://a', { method: 'GET' })).status).toBe(503)
  expect((await answering(500)('http://a', { method: 'POST' })).status).toBe(500)
  expect((await answering(503, { 'retry-after': '0' })('http://a', { method: 'POST' })).status).toBe(503)
})
