import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ClientError } from './errors.ts'
import { sendFailure } from './sendFailure.ts'

const network = new TypeError('fetch failed', { cause: Object.assign(new Error('secret'), { code: 'UND_ERR_SOCKET' }) })
const http = (status: number) => new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'secret', { status })

test.each<[string, unknown, string, RegExp]>([
  ['a connection that was cut', network, 'STREAM_ENDED', /the connection was cut/],
  ['another failure of fetch', new TypeError('secret'), 'STREAM_ENDED', /could not be made/],
  ['no JSON', new SyntaxError('secret'), 'MESSAGE_UNREADABLE', /no message/],
  ['no message', z.string().safeParse(1).error, 'MESSAGE_UNREADABLE', /no message/],
  ['a locked door', http(401), 'AUTHORIZATION_FAILED', /does not let us in/],
  ['a login that failed', new UnauthorizedError('secret'), 'AUTHORIZATION_FAILED', /does not let us in/],
])('%s has a code and a sentence', (_, error, code, sentence) => {
  const failure = sendFailure(error)
  expect(failure).toMatchObject({ code, message: expect.stringMatching(sentence), cause: error })
  expect((failure as Error).message).not.toContain('secret')
})

test.each([
  ['an error of ours', new ClientError('CONFIG_INVALID', 'no')],
  ["the SDK's", new SdkError(SdkErrorCode.NotConnected, 'gone')],
  ['another status', http(500)],
  ["the server's, whatever it says of itself", new ProtocolError(-1, 'no', { status: 401, cause: { code: 'EPIPE' } })],
  ['one that nobody knows', new Error('no')],
])('%s stays what it is', (_, error) => {
  expect(sendFailure(error)).toBe(error)
})
