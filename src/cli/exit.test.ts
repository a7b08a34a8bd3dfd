import { readFileSync } from 'node:fs'
import { ProtocolError } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { Above, FakeTransport, settled } from '../../test/client/fixtures/fakeTransport.ts'
import { call, form, inputRequired } from '../../test/client/fixtures/roundsClient.ts'
import { ClientError, rounds } from '../client/index.ts'
import { EXIT, EXIT_HELP, failureOf } from './exit.ts'

const guide = readFileSync(new URL('../../docs/reference/program.md', import.meta.url), 'utf8')

test.each(Object.entries(EXIT))('%s, %i, is in the help and in the guide', (_, code) => {
  expect(EXIT_HELP).toMatch(new RegExp(`^  ${code} `, 'm'))
  expect(guide).toMatch(new RegExp(`^\\| (\\d+, )?${code}(, \\d+)? \\|`, 'm'))
})

/** The error of a call whose second round cannot be sent. To a process it is not sent again. */
async function unsent(cause: unknown): Promise<ProtocolError> {
  const wire = Object.assign(new FakeTransport(), { pid: 1, stderr: null })
  const above = new Above(rounds({ answerers: { form: () => ({ action: 'decline' }) } })(wire))
  await above.send(call(1))
  wire.react = () => {
    throw cause
  }
  wire.say(inputRequired(1, { inputRequests: { q: form() } }))
  await settled()
  const { code, message, data } = above.heard[0].error
  return new ProtocolError(code, message, data)
}

test.each([
  ['a known reason', Object.assign(new Error('secret'), { code: 'ECONNREFUSED' }), ' Reason: nothing listens there.'],
  ['an error of ours', new ClientError('STREAM_ENDED', 'It was cut.'), ' Reason: It was cut.'],
  ['one that nobody knows', new Error('secret'), ''],
])('people get %s in place of where to look for it', async (_, cause, reason) => {
  const text = `A later round of the call could not be sent. Call again; the rounds so far may have had effects.${reason}`
  expect(failureOf(await unsent(cause))).toEqual({ exitCode: 3, text })
})
