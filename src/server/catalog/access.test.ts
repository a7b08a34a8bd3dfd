import { PassThrough } from 'node:stream'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { accept, Caller } from '../../../test/docs/fixtures/caller.ts'
import { recordedLog } from '../../../test/e2e/fixtures/recordedLog.ts'
import { createServer, type Principal, type Server, type ServerOptions } from '../index.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const yes = { message: 'Sure?', schema: { type: 'object', properties: { yes: { type: 'boolean' } } } }

/** Callers name themselves and their scopes, so that a test can be anybody. */
function open(options: Partial<ServerOptions> = {}): Server {
  const principal = ({ header }: { header(name: string): string | undefined }): Principal | undefined => {
    const id = header('x-user')
    return id === undefined ? undefined : { id, scopes: (header('x-scopes') ?? '').split(' ') }
  }
  const server = createServer({ name: 'guarded', version: '1.0.0', principal, logger: silent, ...options })
  server.tool('open', { description: 'For all.' }, () => 'open')
  return server.tool('write', { description: 'Writes.', scopes: ['write'] }, () => 'written')
}

const as = (server: Server, user?: string, scopes = '') =>
  new Caller(server.fetch, { headers: { ...(user !== undefined && { 'x-user': user }), 'x-scopes': scopes } })

async function toolsOf(caller: Caller) {
  const { result } = await caller.send('tools/list')
  return { names: (result['tools'] as { name: string }[]).map(({ name }) => name), cacheScope: result['cacheScope'] }
}

describe('without bearer tokens', () => {
  test('a missing scope reads as an unknown tool, with no challenge', async () => {
    const server = open()
    for (const caller of [as(server, 'ann', 'read'), as(server)]) {
      const { status, headers, error } = await caller.round('write')
      expect([status, headers.get('www-authenticate')]).toEqual([200, null])
      expect(error).toEqual({ code: -32602, message: 'There is no tool "write".' })
    }
    expect((await as(server, 'ann', 'read write').round('write')).result.content?.[0]?.text).toBe('written')
  })
})

test('a rule that throws fails the call with its error, and a resource with it is news to nobody', async () => {
  const { logger, lines } = recordedLog()
  const server = open({ logger })
  const allow = (): boolean => {
    throw new Error('no database')
  }
  server.resource('test://broken', { name: 'broken', allow }, () => 'x')
  expect((await as(server).send('resources/read', { uri: 'test://broken' })).error).toMatchObject({ code: -32603 })
  expect(lines.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({ err: expect.objectContaining({ message: 'no database' }) }),
  )
  const opened = Promise.withResolvers<void>()
  const door = async (request: Request): Promise<Response> => {
    const response = await server.fetch(request)
    opened.resolve()
    return response
  }
  const notifications = { resourceSubscriptions: ['test://broken', 'test://fine'] }
  const told = new Caller(door).send('subscriptions/listen', { notifications })
  await opened.promise
  for (const uri of notifications.resourceSubscriptions) server.updated(uri)
  await server.drain()
  const news = (await told).notifications.filter(({ method }) => method === 'notifications/resources/updated')
  expect(news.map(({ params }) => params['uri'])).toEqual(['test://fine'])
})

describe('a list', () => {
  test('is private as soon as it is not the same for everyone, whatever caching says', async () => {
    const server = open({ caching: { cacheScope: 'public', ttlMs: 1000 } })
    expect(await toolsOf(as(server, 'ann', 'write'))).toEqual({ names: ['open', 'write'], cacheScope: 'private' })
    expect(await toolsOf(as(server))).toEqual({ names: ['open'], cacheScope: 'private' })
    server.remove('tools', 'write')
    expect(await toolsOf(as(server))).toEqual({ names: ['open'], cacheScope: 'public' })
  })

  test('has pages of what its caller sees', async () => {
    const server = open({ pageSize: 2 })
    for (const name of ['a', 'b', 'c']) server.tool(name, { description: 'One.', scopes: [name] }, () => name)
    const caller = as(server, 'ann', 'a c')
    const { result: first } = await caller.send('tools/list')
    expect(first).toMatchObject({ tools: [{ name: 'open' }, { name: 'a' }], nextCursor: 'tools-1' })
    const { result: second } = await caller.send('tools/list', { cursor: 'tools-1' })
    expect(second).toMatchObject({ tools: [{ name: 'c' }] })
    expect(second).not.toHaveProperty('nextCursor')
  })

  test('stays right when there are more kinds of callers than it remembers', async () => {
    const server = open()
    const letters = Array.from('abcdefgh')
    for (const name of letters) server.tool(name, { description: 'One.', scopes: [name] }, () => name)
    for (let set = 0; set < 256; set += 3) {
      const scopes = letters.filter((_, bit) => set & (1 << bit))
      expect((await toolsOf(as(server, 'ann', scopes.join(' ')))).names).toEqual(['open', ...scopes])
    }
    expect((await toolsOf(as(server, 'ann'))).names).toEqual(['open'])
  })
})

describe('a rule', () => {
  test('is asked again in each round', async () => {
    let isAllowed = true
    const server = open().tool('vault', { description: 'Opens.', allow: () => isAllowed }, async (_, ctx) => {
      await ctx.ask('sure', yes)
      return 'gold'
    })
    const caller = as(server, 'ann')
    const { requestState } = (await caller.round('vault')).result
    isAllowed = false
    const answered = { inputResponses: { sure: accept({ yes: true }) }, requestState }
    expect((await caller.round('vault', {}, answered)).error.message).toBe('There is no tool "vault".')
    isAllowed = true
    expect((await caller.round('vault', {}, answered)).result.content?.[0]?.text).toBe('gold')
  })

  test.each([
    ['gives a promise', () => Promise.resolve(true)],
    ['gives a promise that is rejected', () => Promise.reject(new Error('secret'))],
    ['returns nothing', () => undefined],
    [
      'throws',
      () => {
        throw new Error('secret')
      },
    ],
  ])('that %s lets nobody in, and hides its own entry only', async (_, allow) => {
    const { logger, lines } = recordedLog()
    const server = open({ logger }).tool('vault', { description: 'Opens.', allow: allow as never }, () => 'gold')
    expect((await as(server).round('vault')).error).toEqual({ code: -32603, message: 'Internal error.' })
    expect((await toolsOf(as(server, 'ann', 'write'))).names).toEqual(['open', 'write'])
    expect(lines).toContainEqual({
      level: 'error',
      fields: { list: 'tools', entry: 'vault', err: expect.objectContaining({ message: expect.any(String) }) },
      message: 'An allow rule failed, so its entry is not listed.',
    })
  })
})

describe('registering refuses', () => {
  test.each<[string, object, string]>([
    ['a scope that is no word', { scopes: ['a b'] }, '"a b" is not a scope'],
    ['scopes that are no list', { scopes: 'write' }, 'The scopes of the tool "t" must be a list.'],
    ['a rule that is no function', { allow: true }, 'The allow rule of the tool "t" must be a function'],
    ['a rule that is async', { allow: async () => true }, 'The allow rule of the tool "t" cannot be async'],
    ['a misspelt scopes', { scope: ['write'] }, 'did you mean "scopes"?'],
  ])('%s', (_, options, sentence) => {
    expect(() => open().tool('t', { description: 'T.', ...options }, () => '')).toThrow(sentence)
  })

  test('a resource that is not for everyone and yet publicly cached', () => {
    const options = { name: 'r', scopes: ['read'], cacheScope: 'public' } as const
    expect(() => open().resource('docs://r', options, () => '')).toThrow("cannot have cacheScope: 'public'")
    expect(() => open().resourceTemplate('docs://{r}', options, () => '')).toThrow("cannot have cacheScope: 'public'")
  })
})

describe('where callers are not known, entries that need scopes', () => {
  const unusable = (log: ReturnType<typeof recordedLog>) => log.lines.filter(({ message }) => /scopes/.test(message))

  test('are warned of once when a host of HTTP starts', () => {
    const log = recordedLog()
    const server = open({ logger: log.logger, principal: undefined as never })
    for (const each of [server, server, open({ logger: log.logger })]) each.fetchHandler()
    expect(unusable(log)).toMatchObject([{ level: 'warn', message: expect.stringContaining('(write)') }])
  })

  test('are warned of on stdio, unless the host says who calls', async () => {
    const log = recordedLog()
    const serve = (options: object) => {
      const streams = { input: new PassThrough().end(), output: new PassThrough(), drainOnTerm: false }
      return open({ logger: log.logger }).stdio({ ...streams, ...options })
    }
    await serve({ principal: { id: 'operator' } })
    expect(unusable(log)).toEqual([])
    await serve({})
    expect(unusable(log)).toMatchObject([{ message: expect.stringContaining('give stdio a "principal"') }])
  })
})

describe('on stdio', () => {
  async function ask(principal: Principal | undefined, method: string, params: object = {}) {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const serving = open().stdio({ input, output, drainOnTerm: false, ...(principal && { principal }) })
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`)
    const line = new Promise<string>((resolve) => createInterface({ input: output }).once('line', resolve))
    const message = JSON.parse(await line)
    input.end()
    await serving
    return message
  }

  test('a caller without a principal has no scopes', async () => {
    const { error } = await ask(undefined, 'tools/call', { name: 'write' })
    expect(error).toEqual({ code: -32602, message: 'There is no tool "write".' })
    expect((await ask(undefined, 'tools/list')).result.tools).toHaveLength(1)
  })

  test('the host may say who calls', async () => {
    const operator = { id: 'operator', scopes: ['write'] }
    expect((await ask(operator, 'tools/call', { name: 'write' })).result.content[0].text).toBe('written')
    expect((await ask(operator, 'tools/list')).result.tools).toHaveLength(2)
  })

  test('a principal without an id is refused', async () => {
    await expect(open().stdio({ principal: { id: '' } })).rejects.toThrow('A principal needs an id')
  })
})
