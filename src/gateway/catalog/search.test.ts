import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { isObject, type Json } from '../../protocol/index.ts'
import { createToolSearch, readToolCall, savedBytes, SEARCH_TOOLS } from './index.ts'

function tool(name: string, description: string, properties: readonly string[] = [], more = {}): Json {
  const schema = Object.fromEntries(properties.map((each) => [each, { type: 'string' }]))
  return { name, description, inputSchema: { type: 'object', properties: schema }, ...more }
}

const tools = [
  tool('github_search_repositories', 'Search for GitHub repositories.', ['query', 'page']),
  tool('github_create_issue', 'Create a new issue in a GitHub repository.', ['owner', 'repo', 'title']),
  tool('github_list_issues', 'List issues in a GitHub repository.', ['owner', 'repo', 'state']),
  tool('files_read_file', 'Read the contents of a file from disk.', ['path'], { annotations: { readOnlyHint: true } }),
  tool('files_move', 'Move or rename something.', ['source', 'destination']),
  tool('mail_sendMessage', 'Send an e-mail.', ['recipient'], { title: 'Write a letter' }),
  tool('web_検索', '東京の天気を検索する。'),
]
const search = createToolSearch(tools)

async function found(query: unknown, limit?: unknown): Promise<readonly unknown[]> {
  const { structuredContent } = (await search.find({ query, limit })) as { structuredContent: { tools: Json[] } }
  return structuredContent.tools.map(({ name }) => name)
}

describe('the best tool for', () => {
  test.each([
    ['create an issue', 'github_create_issue'],
    ['list issues', 'github_list_issues'],
    ['search repos', 'github_search_repositories'],
    ['read file', 'files_read_file'],
    ['rename', 'files_move'],
    ['destination', 'files_move'],
    ['LETTERS', 'mail_sendMessage'],
    ['send message', 'mail_sendMessage'],
    ['天気', 'web_検索'],
  ])('%s is %s', async (query, name) => {
    expect((await found(query))[0]).toBe(name)
  })
})

test('stop words find nothing, unless a query has no other words', async () => {
  const sums = createToolSearch([
    tool('list-files', 'Lists the files of a folder, or of two.'),
    tool('get-sum', 'Returns the sum of two numbers.'),
  ])
  const namesFor = async (query: string) => {
    const { structuredContent } = (await sums.find({ query })) as { structuredContent: { tools: Json[] } }
    return structuredContent.tools.map(({ name }) => name)
  }
  expect(await namesFor('the sum of numbers')).toEqual(['get-sum'])
  expect(await namesFor('of the')).toContain('list-files')
})

test('a word in the form of the query counts more than its other forms', async () => {
  const orders = createToolSearch([tool('get-order', 'Gets an order.'), tool('get-orders', 'Gets orders.')])
  const first = async (query: string) => {
    const { structuredContent } = (await orders.find({ query })) as { structuredContent: { tools: Json[] } }
    return structuredContent.tools.map(({ name }) => name)
  }
  expect(await first('the latest orders')).toEqual(['get-orders', 'get-order'])
  expect(await first('the latest order')).toEqual(['get-order', 'get-orders'])
})

test('what does not fit is not found, and the order is always the same', async () => {
  expect(await found('zebra')).toEqual([])
  expect(await found('github')).toEqual(await found('github'))
  expect(new Set(await found('github'))).toEqual(
    new Set(['github_search_repositories', 'github_create_issue', 'github_list_issues']),
  )
  expect(await found('')).toEqual(tools.map(({ name }) => name))
  const limited = await Promise.all([found('', 2), found('', 0), found('', 'x')])
  expect(limited.map((names) => names.length)).toEqual([2, 1, 7])
})

test('results have the counts, what a tool may do, and only the beginning of its description', async () => {
  const long = createToolSearch([
    tool('a', `Reads. ${'and on '.repeat(1000)}`, [], { annotations: { readOnlyHint: true } }),
  ])
  const { structuredContent, content } = await long.find({ query: 'reads' })
  expect(structuredContent).toEqual({
    tools: [
      { name: 'a', description: expect.stringMatching(/^Reads\. and on .*…$/), annotations: { readOnlyHint: true } },
    ],
    found: 1,
    total: 1,
  })
  expect(JSON.stringify(structuredContent).length).toBeLessThan(400)
  expect(content).toEqual([{ type: 'text', text: JSON.stringify(structuredContent) }])
})

test.each<[string, (text: string) => Json]>([
  ['a name', (text) => tool(text, '')],
  ['a title', (title) => tool('a', '', [], { title })],
  ['a description', (text) => tool('a', text)],
  ['a parameter', (text) => tool('a', '', [text])],
  ['very many parameters', (text) => tool('a', '', text.split(' '))],
])('only the beginning of %s is searched', async (_, toolWith) => {
  const words = Array.from({ length: 5000 }, (_, at) => `w${at}`).join(' ')
  const long = createToolSearch([toolWith(`first ${words} last`)])
  const counted = async (query: string) => (await long.find({ query }))['structuredContent']
  expect(await counted('first')).toMatchObject({ found: 1 })
  expect(await counted('last')).toMatchObject({ found: 0 })
})

test('a long title is listed as far as a long description', async () => {
  const long = createToolSearch([tool('a', '', [], { title: 'and on '.repeat(1000) })])
  const { structuredContent } = await long.find({ query: '' })
  expect(structuredContent).toMatchObject({ tools: [{ title: expect.stringMatching(/^and on .{200,240}…$/) }] })
})

test('a description is the definition as the server gave it', async () => {
  const definition = { ...tools[0], outputSchema: { type: 'object' }, _meta: { 'x.example/own': [1, { a: null }] } }
  const { structuredContent } = await createToolSearch([definition]).describe({ name: 'github_search_repositories' })
  expect(structuredContent).toEqual({ tool: definition })
})

test.each<[string, Promise<Json>]>([
  ['The argument "query" must be a string.', search.find({})],
  ['The argument "query" must be a string.', search.find(undefined)],
  ['The argument "name" must be a string.', search.describe({ name: 7 })],
  [
    'There is no tool of that name. Near: github_create_issue, github_list_issues, github_search_repositories.',
    search.describe({ name: 'github_make_issue' }),
  ],
  ['There is no tool of that name.', search.describe({ name: 'constructor' })],
])('a model hears: %s', async (sentence, result) => {
  expect(await result).toEqual({ content: [{ type: 'text', text: sentence }], isError: true })
})

test('a call has a name and arguments', () => {
  expect(readToolCall({ name: 'a', arguments: { b: 1 } })).toEqual({ name: 'a', arguments: { b: 1 } })
  expect(readToolCall({ name: 'a' })).toEqual({ name: 'a', arguments: {} })
  expect(readToolCall({ name: 'a', arguments: [] })).toEqual({ fault: 'The argument "arguments" must be an object.' })
  expect(readToolCall(null)).toEqual({ fault: 'The argument "name" must be a string.' })
})

test('the results of the three tools fit their own schemas', async () => {
  const ajv = new Ajv2020()
  const [find, describing] = SEARCH_TOOLS.map(({ outputSchema }) =>
    isObject(outputSchema) ? ajv.compile(outputSchema) : undefined,
  )
  expect(find?.((await search.find({ query: 'issue' }))['structuredContent'])).toBe(true)
  expect(describing?.((await search.describe({ name: 'files_move' }))['structuredContent'])).toBe(true)
  for (const { inputSchema } of SEARCH_TOOLS) expect(ajv.validateSchema(inputSchema as object)).toBe(true)
})

test('the list gets as short as three tools, however many there are', () => {
  const many = Array.from({ length: 300 }, (_, at) => ({ ...tools[1], name: `t${at}` }))
  const { before, after } = savedBytes(many)
  expect(before).toBe(Buffer.byteLength(JSON.stringify({ tools: many })))
  expect(after).toBe(savedBytes([]).after)
  expect(after).toBeLessThan(2500)
})
