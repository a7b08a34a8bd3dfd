/** The code of docs/how-to/write-tools.md. */
// #region imports
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import { createServer, failure, ProtocolError, type Server, type StdioOptions, structured } from 'pannier/server'
import * as v from 'valibot'
import { z } from 'zod'

export const server = createServer({ name: 'library', version: '1.0.0' })
// #endregion imports

// #region shelf
const shelf = new Map([
  ['emma', { title: 'Emma', pages: 474, lent: false }],
  ['ulysses', { title: 'Ulysses', pages: 730, lent: true }],
])
// #endregion shelf

// #region tool
const bookId = z.object({ id: z.string().describe('The short name of a book, such as emma') })

server.tool(
  'lend_book',
  {
    title: 'Lend a book',
    description: 'Lends a book to a reader.', // by this a model decides when to use the tool
    input: bookId,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  },
  ({ id }) => {
    const book = shelf.get(id)
    if (book === undefined) return failure(`There is no book "${id}". Use find_books to see which there are.`)
    book.lent = true
    return `${book.title} is yours for two weeks.`
  },
)
// #endregion tool

// #region schemas
// zod: as it is. Limits, defaults and descriptions are part of what the client sees.
const page = z.object({ search: z.string(), limit: z.int().min(1).max(50).default(10) })
server.tool('find_books', { description: 'Finds books by title.', input: page }, ({ search, limit }) => {
  const found = [...shelf.values()].filter(({ title }) => title.toLowerCase().includes(search.toLowerCase()))
  const titles = found.slice(0, limit).map(({ title }) => title)
  return titles.join('\n') || 'Nothing fits.'
})

// valibot: wrapped, because its schemas do not have a JSON Schema themselves.
const shelfName = toStandardJsonSchema(v.object({ shelf: v.picklist(['novels', 'poems']) }))
server.tool('open_shelf', { description: 'Opens a shelf.', input: shelfName }, ({ shelf }) => `Opened: ${shelf}.`)

// arktype: as it is.
const rating = type({ id: 'string', stars: '1 <= number.integer <= 5' })
server.tool('rate_book', { description: 'Rates a book.', input: rating }, ({ id, stars }) => `${id}: ${stars} of 5.`)

// Plain JSON Schema, 2020-12 or draft-07. It carries no types, so the arguments are unknown values.
const note = { type: 'object', properties: { text: { type: 'string', maxLength: 80 } }, required: ['text'] }
server.tool('leave_note', { description: 'Leaves a note.', input: note }, ({ text }) => `Noted: ${String(text)}`)
// #endregion schemas

// #region output
const stock = z.object({ title: z.string(), pages: z.int(), lent: z.boolean() })

server.tool('book_facts', { description: 'Tells about a book.', input: bookId, output: stock }, ({ id }) => {
  const book = shelf.get(id)
  if (book === undefined) return failure(`There is no book "${id}".`) // a failure needs no structured content
  return structured(book)
})
// #endregion output

// #region content
server.tool('book_cover', { description: 'Shows the cover of a book.', input: bookId }, ({ id }) => ({
  content: [
    { type: 'text', text: `The cover of ${id}:` },
    { type: 'image', data: Buffer.from('not really a picture').toString('base64'), mimeType: 'image/png' },
    { type: 'resource_link', uri: `book:///${id}`, name: id },
  ],
}))
// #endregion content

// #region throws
server.tool('renew_card', { description: 'Renews a reader card.' }, () => {
  throw new Error('The card office is closed. Try again after nine.') // the model reads this
})
// #endregion throws

// #region header
const branchQuery = z.object({ branch: z.string().meta({ 'x-mcp-header': 'Branch' }), search: z.string() })

server.tool('search_branch', { description: 'Searches one branch.', input: branchQuery }, ({ branch, search }) => {
  return `Searched ${branch} for ${search}.`
})
// #endregion header

// #region prompt
const review = z.object({
  title: z.string().describe('The book'),
  tone: z.enum(['kind', 'strict']).optional().describe('How to judge it'),
})

server.prompt('review', { title: 'Review a book', description: 'Starts a review.', input: review }, (args) => {
  return `Write a ${args.tone ?? 'kind'} review of ${args.title}.` // a string is one message of the user
})

server.prompt('interview', { description: 'Starts an interview with an author.' }, () => ({
  messages: [
    { role: 'user', content: { type: 'text', text: 'You are an author. I will ask about your book.' } },
    { role: 'assistant', content: { type: 'text', text: 'Please ask.' } },
  ],
}))
// #endregion prompt

// #region resource
server.resource('library://hours', { name: 'hours', mimeType: 'text/plain', ttlMs: 60_000 }, () => 'Nine to six.')

server.resource('library://stamp', { name: 'stamp', mimeType: 'image/png' }, (uri, ctx) => {
  ctx.log('debug', `${uri} was read`)
  return Uint8Array.of(0x89, 0x50, 0x4e, 0x47) // bytes travel as base64
})
// #endregion resource

// #region template
server.resourceTemplate('book:///{id}', { name: 'book', mimeType: 'application/json' }, (uri, { id }) => {
  const book = shelf.get(id ?? '')
  if (book === undefined) throw new ProtocolError('RESOURCE_UNKNOWN', 'There is no such book.', { uri })
  return JSON.stringify(book)
})
// #endregion template

// #region completion
const startingWith = (typed: string, values: Iterable<string>) => [...values].filter((value) => value.startsWith(typed))

server.completion({ template: 'book:///{id}', variable: 'id' }, (typed) => startingWith(typed, shelf.keys()))

server.completion({ prompt: 'review', argument: 'tone' }, (typed, chosen) =>
  startingWith(typed, chosen['title'] === 'Emma' ? ['kind'] : ['kind', 'strict']),
)
// #endregion completion

// #region changes
/** Adds a book, and returns a function that removes it. Clients are notified of both. */
export function addBook(server: Server, uri: string): () => void {
  server.resource(uri, { name: 'new book' }, () => 'Just arrived.') // notifies clients of the list change
  server.updated(uri) // notifies the subscribers of this URI of new content
  return () => server.remove('resources', uri) // notifies clients of the list change, too
}
// #endregion changes

// #region listen
/** Its own HTTP server, at http://127.0.0.1:3000/mcp. It logs to standard error and drains on SIGTERM. */
export async function startHttp(server: Server, port = 3000): Promise<string> {
  const { url } = await server.listen({ port })
  return url
}
// #endregion listen

// #region stdio
/** A program that a client starts: one message per line on standard input and output. Print nothing else there. */
export function startStdio(server: Server, options: StdioOptions = {}): Promise<void> {
  return server.stdio(options) // resolves when the input has ended
}
// #endregion stdio

// #region fetch
/** Without a port: a function from Request to Response, for web-standard runtimes and for tests. */
export function answer(request: Request): Promise<Response> {
  return server.fetch(request)
}
// #endregion fetch

// #region node
/** Inside an existing server: a `node:http` handler for the path of your choice. */
export const handler = server.nodeHandler({ maxBodyBytes: 1_000_000 })
// #endregion node
