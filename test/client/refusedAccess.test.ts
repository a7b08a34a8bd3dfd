/** A server that refuses a token, when a client connects and later, in both eras: the client says why. */
import { clientCode, connect } from 'pannier/client'
import { AuthError, createServer, type Server } from 'pannier/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { quiet } from '../interop/fixtures/instances.ts'
import { pannier } from '../cli/fixtures/program.ts'

const SCOPE = 'The access token lacks a scope; get one with: write.'
const EXPIRED = 'The access token has expired; get a new one.'
const tokens = new Map<string, () => AuthError>([
  ['narrow', () => new AuthError('AUTH_SCOPE', SCOPE, { challenge: challenge('insufficient_scope', SCOPE) })],
  ['expired', () => new AuthError('AUTH_INVALID', EXPIRED, { challenge: challenge('invalid_token', EXPIRED) })],
])
let server: Server
let url: string

function challenge(error: string, description: string): string {
  return `Bearer error="${error}", error_description="${description}", scope="write"`
}

beforeAll(async () => {
  server = createServer({
    name: 'guarded',
    version: '1',
    logger: quiet,
    principal: ({ header }) => {
      const refusal = tokens.get(header('authorization')?.replace('Bearer ', '') ?? '')
      if (refusal !== undefined) throw refusal()
      return { id: 'ann' }
    },
  })
  server.tool('greet', { description: 'Greets.' }, () => 'Hello.')
  ;({ url } = await server.listen())
})
afterAll(() => server.drain({ deadlineMs: 0 }))

const ADVICE = {
  narrow: `refuses access: "${SCOPE}" Get a token with the scope "write".`,
  expired: `refuses access: "${EXPIRED}" Check the bearer token or header, or log in with OAuth.`,
}

test.each([
  ['narrow', 'modern'],
  ['narrow', 'legacy'],
  ['expired', 'modern'],
  ['expired', 'legacy'],
] as const)('a token that is %s is told as such to a client that is connected (%s)', async (token, era) => {
  let bearer = 'good'
  const prior = era === 'legacy' ? { prior: { kind: 'legacy' as const } } : {}
  const client = await connect(url, { ...prior, bearer: () => bearer })
  bearer = token
  const error: unknown = await client.callTool({ name: 'greet' }).catch((cause: unknown) => cause)
  expect(clientCode(error)).toBe('AUTHORIZATION_FAILED')
  expect(error).toMatchObject({ message: `The server ${ADVICE[token]}` })
  bearer = 'good'
  await client.close()
})

test.each(['narrow', 'expired'] as const)('a token that is %s is told as such when connecting', async (bearer) => {
  const error: unknown = await connect(url, { bearer }).catch((cause: unknown) => cause)
  expect(error).toMatchObject({ code: 'AUTHORIZATION_FAILED', message: `${url} ${ADVICE[bearer]}` })
})

test('the program says it, too', async () => {
  const ran = await pannier(['tools', url, '--no-jar', '--bearer-env', 'TOKEN'], { env: { TOKEN: 'narrow' } })
  expect(ran).toEqual({ status: 3, stdout: '', stderr: `error: ${url} ${ADVICE.narrow}\n` })
})
