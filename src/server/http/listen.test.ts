import dns from 'node:dns'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createServer } from '../index.ts'
import { type ListenOptions, openListener } from './listen.ts'
import type { NodeHandler } from './node.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function opened(options: ListenOptions = {}, serve: NodeHandler = (_, res) => void res.end('served')) {
  const listener = await openListener(options, serve)
  closers.push(() => listener.close())
  return listener
}

async function reply(url: string, agent = new Agent()): Promise<IncomingMessage & { readonly body: string }> {
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage]
  return Object.assign(response, { body: await text(response) })
}

/** No name is asked for outside of this machine. */
function failLookups(error: Error): void {
  const lookup = vi.spyOn(dns, 'lookup')
  lookup.mockImplementation(((_: string, __: object, done: (error: Error) => void) => done(error)) as never)
  onTestFinished(() => lookup.mockRestore())
}

describe('a port', () => {
  test('that is in use is an error that names it and its host, and keeps the code', async () => {
    const { port } = await opened()
    const second = openListener({ port }, () => {})
    await expect(second).rejects.toThrow(`Port ${port} of 127.0.0.1 is in use.`)
    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE', cause: { code: 'EADDRINUSE' } })
  })

  test('of an address that is not of this machine is an error that names the address', async () => {
    // TEST-NET-1 is the address of no machine.
    const opening = openListener({ host: '192.0.2.1' }, () => {})
    await expect(opening).rejects.toThrow('The address "192.0.2.1" is not one of this machine.')
    await expect(opening).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' })
  })

  test.each(['ENOTFOUND', 'EAI_AGAIN'])(
    'of a host that is not found (%s) is an error that names the host',
    async (code) => {
      failLookups(Object.assign(new Error(`getaddrinfo ${code}`), { code }))
      const opening = openListener({ host: 'example.invalid' }, () => {})
      await expect(opening).rejects.toThrow(
        'There is no host "example.invalid". Give the name or an address of this machine',
      )
      await expect(opening).rejects.toMatchObject({ code })
    },
  )

  test('that cannot be opened for another reason is the error of the system', async () => {
    const error = Object.assign(new Error('getaddrinfo EOTHER'), { code: 'EOTHER' })
    failLookups(error)
    await expect(openListener({ host: 'example.invalid' }, () => {})).rejects.toBe(error)
  })

  test('is any free one by default, on loopback, and the address says which', async () => {
    const { port, address, url } = await opened()
    expect(port).toBeGreaterThan(0)
    expect([address, url]).toEqual(['127.0.0.1', `http://127.0.0.1:${port}/mcp`])
    expect((await reply(url)).body).toBe('served')
  })

  test('has the path in its address that it was given', async () => {
    const { port, url } = await opened({ path: '/other' })
    expect(url).toBe(`http://127.0.0.1:${port}/other`)
  })

  test('of an IPv6 address has brackets in its URL', async () => {
    const { url, port } = await opened({ host: '::1' })
    expect(url).toBe(`http://[::1]:${port}/mcp`)
    expect((await reply(url)).body).toBe('served')
  })
})

describe('the endpoint', () => {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} }

  test.each([
    ['/mcp', ['/mcp', '/mcp/', '/mcp?x=1', '/mcp/?x=1'], ['/', '/mcpx', '/other']],
    ['/mcp/', ['/mcp', '/mcp/'], ['/']],
    ['/', ['/'], ['/mcp']],
  ])('at %s is found with and without a slash, and elsewhere is nothing', async (path, found, missing) => {
    const server = createServer({ name: 'hosted', version: '1.0.0', logger: quiet })
    closers.push(() => server.drain({ deadlineMs: 0 }))
    const { port } = await server.listen({ path, drainOnTerm: false })
    const statusAt = async (asked: string) => (await reply(`http://127.0.0.1:${port}${asked}`)).statusCode
    for (const asked of found) expect([asked, await statusAt(asked)]).not.toEqual([asked, 404])
    for (const asked of missing) expect([asked, await statusAt(asked)]).toEqual([asked, 404])
  })
})

test('an answer during the close is the last one on its connection, and one before it is not', async () => {
  const answers: (() => void)[] = []
  const { url, close } = await opened({}, (_, res) => void answers.push(() => void res.end('served')))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  closers.push(() => agent.destroy())
  const first = reply(url, agent)
  await expect.poll(() => answers.length).toBe(1)
  answers[0]?.()
  expect((await first).headers.connection).toBe('keep-alive')
  const second = reply(url, agent)
  await expect.poll(() => answers.length).toBe(2)
  const closed = close()
  answers[1]?.()
  expect((await second).headers.connection).toBe('close')
  await closed
  await expect(reply(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test.each([
  [undefined, { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 65_000, maxHeadersCount: 0 }],
  [4000, { requestTimeout: 4000, headersTimeout: 4000, keepAliveTimeout: 65_000, maxHeadersCount: 0 }],
])(
  'a client has so much time for a request where %s is given, and may send any number of headers',
  async (ms, limits) => {
    let server: object = {}
    const { url } = await opened(ms === undefined ? {} : { requestTimeoutMs: ms }, (req, res) => {
      server = (req.socket as unknown as { server: object }).server
      res.end()
    })
    await reply(url)
    expect(server).toMatchObject(limits)
  },
)
