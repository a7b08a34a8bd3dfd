/** The tools and servers of docs/how-to/tasks.md and docs/how-to/operating-tasks.md. */
// #region imports
import { postgres, postgresCarryStore, postgresEngine, postgresLedger, postgresTasks } from 'pannier/postgres'
import { createServer, type Server } from 'pannier/server'
import { createTasks, movingEngine, sqliteEngine, sqliteTasks } from 'pannier/tasks'
import { z } from 'zod'

/** What the tools act on; the tests count its calls. */
export interface Printer {
  layOut(book: string): Promise<{ pages: number }>
  print(page: number, signal: AbortSignal): Promise<void>
  charge(pages: number, idempotencyKey: string): Promise<{ receipt: string }>
}

const agreeForm = (pages: number) => ({
  message: `It has ${pages} pages. Shall it be printed?`,
  schema: z.object({ agree: z.boolean() }),
})
const addressForm = { message: 'Where shall it be sent?', schema: z.object({ city: z.string() }) }
// #endregion imports

// #region server
export function bookServer(path: string): Server {
  return createServer({ name: 'books', version: '1.0.0', tasks: sqliteTasks({ path }) })
}
// #endregion server

export function offerPrinting(server: Server, printer: Printer): Server {
  // #region job
  const book = z.object({ book: z.string() })
  server.tool('print_book', { description: 'Prints a book.', input: book, task: 'required' }, async ({ book }, ctx) => {
    const { pages } = await ctx.step('lay out', () => printer.layOut(book))
    const { agree } = await ctx.ask('agree', agreeForm(pages)) // a minute or a month: nothing waits in memory
    if (!agree) return 'It was not printed.'
    for (let page = 1; page <= pages; page++) {
      await ctx.step(`page ${page}`, () => printer.print(page, ctx.signal))
      ctx.progress(page, pages, `Page ${page} of ${pages}`)
    }
    const { receipt } = await ctx.once('charge', (key) => printer.charge(pages, key))
    return `Printed ${pages} pages of ${book}; the receipt is ${receipt}.`
  })
  // #endregion job

  // #region detach
  server.tool(
    'order_book',
    { description: 'Orders a book.', input: book, task: 'optional', startsAs: 'call' },
    async ({ book }, ctx) => {
      const { city } = await ctx.ask('address', addressForm) // an ordinary round: nothing is stored yet
      const task = await ctx.detach() // from here on it is a task
      const { pages } = await task.step('lay out', () => printer.layOut(book))
      for (let page = 1; page <= pages; page++) await task.step(`page ${page}`, () => printer.print(page, task.signal))
      return `${book} is on its way to ${city}.`
    },
  )
  // #endregion detach
  return server
}

/** A server with PostgreSQL; any number of instances share its tasks. */
export function clusterServer(url: string, keys: string): Server {
  // #region postgres
  const database = postgres({ url })
  const server = createServer({
    name: 'books',
    version: '1.0.0',
    keys,
    tasks: postgresTasks(database),
    ledger: postgresLedger(database), // what `once` claims outside of tasks
    store: postgresCarryStore(database), // journals too large to travel with the client
  })
  // #endregion postgres
  return server
}

/** Answers requests, but runs no tasks; other instances do. */
export function frontServer(path: string): Server {
  // #region front
  const tasks = sqliteTasks({ path, concurrency: 0 })
  // #endregion front
  return createServer({ name: 'books', version: '1.0.0', tasks })
}

/** For the migration from a file to PostgreSQL. */
export function movingServer(path: string, url: string): Server {
  // #region move
  const tasks = createTasks(movingEngine({ from: sqliteEngine({ path }), to: postgresEngine(postgres({ url })) }))
  const server = createServer({ name: 'books', version: '1.0.0', tasks })
  // #endregion move
  return server
}
