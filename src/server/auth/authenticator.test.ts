import { describe, expect, test } from 'vitest'
import { Caller } from '../../../test/docs/fixtures/caller.ts'
import { AuthError, type Authenticator, createServer } from '../index.ts'

function open(principal: Authenticator) {
  const errors: object[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (details: object) => errors.push(details) }
  const server = createServer({ name: 'hooked', version: '1.0.0', principal, logger })
  server.tool('whoami', { description: 'Tells who calls' }, (_, ctx) => ctx.principal?.id ?? 'nobody')
  const knock = async (headers: Record<string, string> = {}) => {
    const reply = await new Caller(server.fetch, { headers }).send('tools/call', { name: 'whoami', arguments: {} })
    return { ...reply, text: reply.result?.content?.[0]?.text }
  }
  return { server, knock, errors }
}

describe('a principal hook', () => {
  test('is a function of the headers', async () => {
    const { knock } = open(({ header }) => ({ id: header('x-user') ?? 'unknown' }))
    expect((await knock({ 'x-user': 'ann' })).text).toBe('ann')
  })

  test('may spell header names as it likes', async () => {
    const { server } = open(({ header }) => ({ id: `${header('X-User')}` }))
    const { url } = await server.listen()
    const overHttp = new Caller(fetch, { headers: { 'x-user': 'ann' }, url })
    expect((await overHttp.send('tools/call', { name: 'whoami', arguments: {} })).result.content?.[0]?.text).toBe('ann')
    await server.drain()
  })

  test('may let callers be anonymous', async () => {
    expect((await open(() => undefined).knock()).text).toBe('nobody')
  })

  test.each([
    ['AUTH_MISSING', 401, 'Bearer'],
    ['AUTH_INVALID', 401, 'Bearer'],
    ['AUTH_SCOPE', 403, 'Bearer'],
    ['AUTH_UNAVAILABLE', 503, null],
  ] as const)('turns a caller away with %s', async (code, status, challenge) => {
    const { knock } = open(() => {
      throw new AuthError(code, 'Not today.')
    })
    const reply = await knock()
    expect(reply.status).toBe(status)
    expect(reply.headers.get('www-authenticate')).toBe(challenge)
    expect(reply.error.message).toBe('Not today.')
  })

  test('may challenge in its own way', async () => {
    const { knock } = open(() => {
      throw new AuthError('AUTH_MISSING', 'Who are you?', { challenge: 'Basic realm="here"' })
    })
    expect((await knock()).headers.get('www-authenticate')).toBe('Basic realm="here"')
  })

  test.each([
    ['an empty id', { id: '' }],
    ['no id', {}],
    ['null', null],
    ['a bare text', 'ann'],
  ])('that gives %s makes nobody of its caller; that is an error of the server', async (_, given) => {
    const { knock, errors } = open(() => given as never)
    const reply = await knock()
    expect(reply.status).toBe(500)
    expect(reply.error).toEqual({ code: -32603, message: 'Internal error.' })
    expect(errors).toMatchObject([{ err: { message: expect.stringContaining('A principal needs an id') } }])
  })

  test('that breaks lets nobody in, tells the operator why and the caller nothing', async () => {
    const { knock, errors } = open(() => Promise.reject(new Error('the directory is away')))
    const reply = await knock()
    expect(reply.status).toBe(500)
    expect(reply.error.message).toBe('Internal error.')
    expect(errors).toMatchObject([{ err: { message: 'the directory is away' } }])
  })

  test('does not log what other libraries hang on their errors', async () => {
    const failed = Object.assign(new Error('upstream failed'), {
      config: { headers: { authorization: 'Bearer s3cret' } },
    })
    const { knock, errors } = open(() => Promise.reject(new Error('no user', { cause: failed })))
    await knock()
    expect(JSON.stringify(errors)).toContain('upstream failed')
    expect(JSON.stringify(errors)).not.toContain('s3cret')
  })
})
