import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { accept, Caller, textOf } from '../../../test/docs/fixtures/caller.ts'
import {
  AuthError,
  createServer,
  failure,
  type HandlerCall,
  type Middleware,
  ProtocolError,
  type Server,
  text,
} from '../index.ts'

const name = z.object({ name: z.string() })
const URL_OF_SERVER = 'http://server.example/mcp'
const KEEPING = { elicitation: { form: {} }, state: {} }

function open(...middlewares: Middleware[]) {
  const errors: object[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (details: object) => void errors.push(details) }
  const principal = () => ({ id: 'ann' })
  const server = createServer({ name: 'audited', version: '1.0.0', logger, principal })
  for (const middleware of middlewares) server.use(middleware)
  server.tool('greet', { description: 'Greets.', input: name }, (args) => `Hello ${args.name}`)
  server.tool('ask', { description: 'Asks.' }, async (_, ctx) => {
    ctx.state.session.set('asked', true)
    return `Hello ${(await ctx.ask('who', { message: 'Who?', schema: name })).name}`
  })
  server.tool('hidden', { description: 'For nobody.', allow: () => false }, () => '')
  server.prompt('letter', { description: 'Writes.', input: name }, (args) => `Write to ${args.name}.`)
  server.resourceTemplate('docs:///{page}', { name: 'page' }, () => 'A page.')
  return { server, errors, caller: new Caller(server.fetch, { url: URL_OF_SERVER, capabilities: KEEPING }) }
}

/** Writes down each round and how it ended. */
function recorder() {
  const rounds: (HandlerCall & { ended: unknown; inputRequests: unknown })[] = []
  const middleware: Middleware = async (call, next) => {
    const result = await next()
    rounds.push({ ...call, ended: result.resultType ?? 'complete', inputRequests: result['inputRequests'] })
    return result
  }
  return { rounds, middleware }
}

async function connect(server: Server, mode: 'auto' | 'legacy'): Promise<Client> {
  const client = new Client(
    { name: 'official', version: '1' },
    { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } },
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Bob' } }))
  const door = (input: string | URL, init?: RequestInit) => server.fetch(new Request(input, init))
  await client.connect(new StreamableHTTPClientTransport(new URL(URL_OF_SERVER), { fetch: door }))
  onTestFinished(() => client.close())
  return client
}

describe.each([
  ['modern', 'auto'],
  ['legacy', 'legacy'],
] as const)('a middleware, for a client of the %s era,', (era, mode) => {
  test('sees tools, prompts and resources in one shape', async () => {
    const { rounds, middleware } = recorder()
    const client = await connect(open(middleware).server, mode)
    expect(await client.callTool({ name: 'greet', arguments: { name: 'Bob' } })).toMatchObject(text('Hello Bob'))
    await client.getPrompt({ name: 'letter', arguments: { name: 'Bob' } })
    expect(await client.readResource({ uri: 'docs:///one' })).toMatchObject({ contents: [{ text: 'A page.' }] })
    const common = { era, round: 1, task: undefined, principal: { id: 'ann' }, ended: 'complete' }
    expect(rounds).toMatchObject([
      { ...common, kind: 'tool', name: 'greet', args: { name: 'Bob' }, client: { name: 'official' } },
      { ...common, kind: 'prompt', name: 'letter', args: { name: 'Bob' } },
      { ...common, kind: 'resource', name: 'docs:///one', args: {} },
    ])
    expect(new Set(rounds.map(({ id }) => id)).size).toBe(3)
  })

  test('runs around each round, and a call that is asked in place is one round', async () => {
    const { rounds, middleware } = recorder()
    const client = await connect(open(middleware).server, mode)
    expect(await client.callTool({ name: 'ask' })).toMatchObject(text('Hello Bob'))
    const all = [
      { round: 1, ended: 'input_required', inputRequests: { who: { method: 'elicitation/create' } } },
      { round: 2, ended: 'complete' },
    ]
    expect(rounds).toMatchObject(era === 'modern' ? all : [{ round: 1, ended: 'complete' }])
    expect(new Set(rounds.map(({ id }) => id)).size).toBe(1)
  })

  test('refuses a call with the error it throws', async () => {
    const refusal = () => {
      throw new ProtocolError('PARAMS_INVALID', 'The quota of today is used up.')
    }
    const client = await connect(open(refusal).server, mode)
    const error = { code: -32602, message: 'The quota of today is used up.' }
    await expect(client.callTool({ name: 'greet', arguments: { name: 'Bob' } })).rejects.toMatchObject(error)
    await expect(client.readResource({ uri: 'docs:///one' })).rejects.toMatchObject(error)
  })
})

describe('a middleware', () => {
  test('runs in the order in which it was added, the first one outermost', async () => {
    const order: string[] = []
    const named =
      (letter: string): Middleware =>
      async (_, next) => {
        order.push(letter)
        const result = await next()
        order.push(letter.toUpperCase())
        return result
      }
    await open(named('a'), named('b')).caller.round('greet', { name: 'Bob' })
    expect(order).toEqual(['a', 'b', 'B', 'A'])
  })

  test('may return a failure instead of running the call', async () => {
    const { caller } = open(() => failure('Not on Sundays.'))
    expect((await caller.round('greet', { name: 'Bob' })).result).toMatchObject({
      isError: true,
      content: [{ text: 'Not on Sundays.' }],
    })
  })

  test('may change the result, and what the client is to keep stays with it', async () => {
    const { caller } = open(async (_, next) => {
      const result = await next()
      return result.resultType === 'input_required' ? result : text('redacted')
    })
    const { result, text: answer } = await caller.call('ask', {}, { who: accept({ name: 'Bob' }) })
    expect(answer).toBe('redacted')
    expect(JSON.stringify(result._meta)).toContain('"asked":true')
  })

  test('sees the questions of a round, but not its sealed state', async () => {
    const { rounds, middleware } = recorder()
    let seen = ''
    const { caller } = open(middleware, async (_, next) => {
      const result = await next()
      seen += JSON.stringify(result)
      return result
    })
    const { requestState } = (await caller.round('ask')).result
    expect(rounds).toHaveLength(1)
    expect(seen).toContain('Who?')
    expect(seen).not.toContain(String(requestState))
  })

  test('may ask for other credentials', async () => {
    const { caller } = open(() => {
      throw new AuthError('AUTH_SCOPE', 'Use the other tenant.', { challenge: 'Bearer scope="other"' })
    })
    const { status, headers, error } = await caller.round('greet', { name: 'Bob' })
    expect([status, headers.get('www-authenticate')]).toEqual([403, 'Bearer scope="other"'])
    expect(error.message).toBe('Use the other tenant.')
  })

  test('does not run for what is refused before: unknown, hidden, or with arguments that do not fit', async () => {
    const { rounds, middleware } = recorder()
    const { caller } = open(middleware)
    for (const tool of ['nothing', 'hidden', 'greet']) await caller.round(tool)
    expect(rounds).toEqual([])
  })

  test('added later counts from then on', async () => {
    const { server, caller } = open()
    expect(textOf(await caller.round('greet', { name: 'Bob' }))).toBe('Hello Bob')
    server.use(() => text('wrapped'))
    expect(textOf(await caller.round('greet', { name: 'Bob' }))).toBe('wrapped')
  })

  test('that is no function is refused', () => {
    expect(() => open().server.use({} as never)).toThrow('use() needs a function')
  })

  test.each<[string, Middleware, string]>([
    ['throws', () => Promise.reject(new Error('the directory is away')), 'the directory is away'],
    ['returns nothing', (() => undefined) as never, 'must return a result'],
    [
      'calls next twice',
      async (_, next) => {
        await next()
        return next()
      },
      'called next() twice',
    ],
    ['returns a copy of the questions', async (_, next) => ({ ...(await next()) }), 'not a copy'],
  ])('that %s fails the request; the log says why, the answer does not', async (_, middleware, sentence) => {
    const { caller, errors } = open(middleware)
    expect((await caller.round('ask')).error).toEqual({ code: -32603, message: 'Internal error.' })
    expect(errors).toMatchObject([{ err: { message: expect.stringContaining(sentence) } }])
  })

  test('that does not wait for a call that fails harms nobody', async () => {
    const failing: Middleware = () => Promise.reject(new Error('late'))
    const { caller } = open((_, next) => {
      void next()
      return text('early')
    }, failing)
    expect(textOf(await caller.round('greet', { name: 'Bob' }))).toBe('early')
  })
})
