import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { text as textFrom } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createServer } from 'pannier/server'
import { addBook, answer, handler, server, startHttp, startStdio } from '../../docs/snippets/basics.ts'
import { Caller, type Door, textOf } from './fixtures/caller.ts'

process.env['PANNIER_LOG_LEVEL'] = 'silent'
const caller = new Caller(answer)

describe('docs/snippets/basics.ts', () => {
  test.each([
    ['lend_book', { id: 'emma' }, 'Emma is yours for two weeks.', undefined],
    ['lend_book', { id: 'x' }, 'There is no book "x". Use find_books to see which there are.', true],
    ['find_books', { search: 'e' }, 'Emma\nUlysses', undefined],
    ['find_books', { search: 'e', limit: 1 }, 'Emma', undefined],
    ['open_shelf', { shelf: 'poems' }, 'Opened: poems.', undefined],
    ['rate_book', { id: 'emma', stars: 4 }, 'emma: 4 of 5.', undefined],
    ['leave_note', { text: 'Fine.' }, 'Noted: Fine.', undefined],
    ['book_facts', { id: 'x' }, 'There is no book "x".', true],
    ['renew_card', {}, 'The card office is closed. Try again after nine.', true],
  ])('%s with %j says: %s', async (tool, args, expected, isError) => {
    const reply = await caller.round(tool, args)
    expect(textOf(reply)).toBe(expected)
    expect(reply.result.isError).toBe(isError)
  })

  test.each([
    ['find_books', { search: 'e', limit: 51 }, 'limit'],
    ['open_shelf', { shelf: 'maps' }, 'shelf'],
    ['rate_book', { id: 'emma', stars: 6 }, 'stars'],
    ['leave_note', {}, 'text'],
  ])('%s with %j fails and names %s, whichever library checks', async (tool, args, field) => {
    const reply = await caller.round(tool, args)
    expect(reply.result.isError).toBe(true)
    expect(textOf(reply)).toMatch(new RegExp(`^The arguments do not fit: .*${field}`))
  })

  test('the list shows title, annotations and the schemas', async () => {
    const { result } = await caller.send('tools/list')
    const tools = new Map((result['tools'] as { name: string }[]).map((tool) => [tool.name, tool]))
    expect(tools.get('lend_book')).toMatchObject({
      title: 'Lend a book',
      annotations: { idempotentHint: true },
      inputSchema: { properties: { id: { description: 'The short name of a book, such as emma' } } },
    })
    expect(tools.get('find_books')).toMatchObject({
      inputSchema: { properties: { limit: { maximum: 50, default: 10 } } },
    })
    expect(tools.get('book_facts')).toHaveProperty('outputSchema.properties.pages')
    expect(tools.get('rate_book')).toHaveProperty('inputSchema.properties.stars')
  })

  test('structured content goes out as such and as text', async () => {
    const reply = await caller.round('book_facts', { id: 'ulysses' })
    const facts = { title: 'Ulysses', pages: 730, lent: true }
    expect(reply.result.structuredContent).toEqual(facts)
    expect(JSON.parse(textOf(reply) ?? '')).toEqual(facts)
  })

  test('a result may have several contents', async () => {
    const { result } = await caller.round('book_cover', { id: 'emma' })
    expect(result.content?.map(({ type }) => type)).toEqual(['text', 'image', 'resource_link'])
  })

  test('a mirrored argument needs its header, with the same value', async () => {
    const args = { branch: 'north', search: 'maps' }
    const round = (headers: Record<string, string>) => new Caller(answer, { headers }).round('search_branch', args)
    expect(textOf(await round({ 'mcp-param-branch': 'north' }))).toBe('Searched north for maps.')
    expect((await round({})).error).toMatchObject({ code: -32020, message: 'The Mcp-Param-Branch header is missing.' })
    expect((await round({ 'mcp-param-branch': 'south' })).status).toBe(400)
  })

  test('prompts list their arguments, check them and give messages', async () => {
    const { result } = await caller.send('prompts/list')
    expect((result['prompts'] as object[])[0]).toMatchObject({
      name: 'review',
      arguments: [
        { name: 'title', description: 'The book', required: true },
        { name: 'tone', required: false },
      ],
    })
    const get = (name: string, args: object) => caller.send('prompts/get', { name, arguments: args })
    const review = await get('review', { title: 'Emma', tone: 'strict' })
    const content = { type: 'text', text: 'Write a strict review of Emma.' }
    expect(review.result['messages']).toEqual([{ role: 'user', content }])
    expect((await get('review', {})).error.code).toBe(-32602)
    expect((await get('interview', {})).result['messages']).toHaveLength(2)
  })

  test.each([
    ['library://hours', { mimeType: 'text/plain', text: 'Nine to six.' }],
    ['library://stamp', { mimeType: 'image/png', blob: 'iVBORw==' }],
    ['book:///ulysses', { mimeType: 'application/json', text: '{"title":"Ulysses","pages":730,"lent":true}' }],
  ])('%s can be read', async (uri, expected) => {
    const { result } = await caller.send('resources/read', { uri })
    expect(result['contents']).toEqual([{ uri, ...expected }])
  })

  test('a template says itself that there is nothing at an address', async () => {
    const { error } = await caller.send('resources/read', { uri: 'book:///none' })
    expect(error).toEqual({ code: -32602, message: 'There is no such book.', data: { uri: 'book:///none' } })
  })

  test.each([
    [{ type: 'ref/resource', uri: 'book:///{id}' }, { name: 'id', value: 'u' }, {}, ['ulysses']],
    [{ type: 'ref/prompt', name: 'review' }, { name: 'tone', value: '' }, { title: 'Emma' }, ['kind']],
    [{ type: 'ref/prompt', name: 'review' }, { name: 'tone', value: 's' }, {}, ['strict']],
    [{ type: 'ref/prompt', name: 'review' }, { name: 'title', value: 'E' }, {}, []],
  ])('%j is completed for %j', async (ref, argument, chosen, values) => {
    const { result } = await caller.send('completion/complete', { ref, argument, context: { arguments: chosen } })
    expect(result['completion']).toEqual({ values, total: values.length, hasMore: false })
  })

  test('adding, updating and removing is told to a client that listens', async () => {
    const library = createServer({ name: 'library', version: '1.0.0' })
    const uri = 'book:///new'
    const notifications = { resourcesListChanged: true, resourceSubscriptions: [uri] }
    const opened = Promise.withResolvers<void>()
    const door: Door = async (request) => {
      const response = await library.fetch(request)
      opened.resolve()
      return response
    }
    const news = new Caller(door).send('subscriptions/listen', { notifications })
    await opened.promise
    addBook(library, uri)()
    await library.drain()
    expect((await news).notifications.map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/resources/list_changed',
      'notifications/resources/updated',
      'notifications/resources/list_changed',
      'notifications/cancelled', // the server ends the subscription
    ])
  })

  test('the same server is reached by listen, nodeHandler and stdio', async () => {
    const lent = { name: 'lend_book', arguments: { id: 'emma' } }
    const door: Door = (request) => fetch(request)

    const url = await startHttp(server, 0)
    onTestFinished(() => server.drain({ deadlineMs: 0 }))
    expect(textOf(await new Caller(door, { url }).send('tools/call', lent))).toContain('Emma')

    const http = createHttpServer(handler).listen(0, '127.0.0.1')
    await once(http, 'listening')
    onTestFinished(() => void http.close())
    const { port } = http.address() as AddressInfo
    const mounted = new Caller(door, { url: `http://127.0.0.1:${port}/any/path` })
    expect(textOf(await mounted.send('tools/call', lent))).toContain('Emma')

    const [input, output] = [new PassThrough(), new PassThrough()]
    const ended = startStdio(server, { input, output })
    input.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`)
    await ended
    output.end()
    expect(JSON.parse(await textFrom(output))).toMatchObject({ id: 1, result: {} })
  })
})

describe('exposeErrors', () => {
  test.each([
    [true, 'Out of ink.'],
    [false, 'The tool failed.'],
  ])('with exposeErrors: %s a tool that throws says: %s', async (exposeErrors, expected) => {
    const printer = createServer({ name: 'printer', version: '1.0.0', exposeErrors })
    printer.tool('print', { description: 'Prints.' }, () => {
      throw new Error('Out of ink.')
    })
    expect(textOf(await new Caller(printer.fetch).round('print'))).toBe(expected)
  })
})
