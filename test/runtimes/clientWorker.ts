/** A program for a browser, with all of `pannier/client`. client.test.ts runs it in workerd without the modules of Node. */
import * as client from 'pannier/client'

interface Task {
  readonly url: string
  readonly era: client.ServerEra
}

/** Books a table through `connect`, with its layers and an answerer. */
async function book({ url, era }: Task): Promise<unknown> {
  // Questions of the session era have no keys.
  const answer: client.Answerer = ({ request }) => {
    const isFirst = JSON.stringify(request.params).includes('how many')
    return { action: 'accept', content: isFirst ? { people: 4 } : { sure: true } }
  }
  const ask = client.fixed({ people: { people: 4 }, sure: { sure: true } }, { otherwise: answer })
  const connection = await client.connect(url, { era, answerers: { form: ask }, allowLocal: true })
  const { tools } = await connection.listTools()
  const { content } = await connection.callTool({ name: 'book_table', arguments: { day: 'Friday' } })
  await connection.close()
  return { tools: tools.length, content }
}

/** What needs Node says so when it is used. */
async function refusalOf(use: () => unknown): Promise<string> {
  try {
    await use()
    return 'It worked.'
  } catch (error) {
    return String(error)
  }
}

export default {
  fetch: async (request: Request): Promise<Response> => {
    const task = (await request.json()) as Task
    if (task.era !== undefined) return Response.json(await book(task))
    return Response.json({
      process: 'process' in globalThis,
      command: await refusalOf(() => client.connect(['node', 'server.js'])),
      names: Object.keys(client).toSorted(),
    })
  },
}
