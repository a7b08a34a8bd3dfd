/** Tasks for clients that know no tasks: tools give their status, answer their questions and cancel them. */
import type { Server } from 'pannier/server'
import { newKey } from 'pannier/state'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call, CLIENTS, connectClient } from '../gateway/fixtures/gateways.ts'
import { ENGINES, type EngineName, instancesOver } from '../tasks/fixtures/engines.ts'
import { ASKLESS, askless, byName, principalOf, textOf, type ToolResult, waitingIn } from './fixtures/askless.ts'

const book = z.object({ book: z.string() })

class Press {
  readonly printed: string[] = []
  readonly cancelled: string[] = []
  #go: () => void = () => {}
  readonly paused = new Promise<void>((resolve) => {
    this.#go = resolve
  })

  go(): void {
    this.#go()
  }

  offer(server: Server): Server {
    server.tool('print', { description: 'Prints.', input: book, task: 'required' }, async ({ book: title }, ctx) => {
      const { agree } = await ctx.ask('agree', { message: `Print ${title}?`, schema: z.object({ agree: z.boolean() }) })
      if (!agree) return 'not printed'
      await ctx.once('print', () => void this.printed.push(title))
      return `printed ${title}`
    })
    server.tool('copy', { description: 'Copies.', input: book, task: 'required' }, async ({ book: title }, ctx) => {
      ctx.progress(1, 3, `copying ${title}`)
      ctx.signal.addEventListener('abort', () => this.cancelled.push(title))
      await this.paused
      return `copied ${title}`
    })
    server.tool('choose', { description: 'Chooses.', task: 'required' }, async (_, ctx) => {
      const schema = z.object({ paper: z.enum(['thin', 'thick']) })
      const { paper } = await ctx.ask('paper', { message: 'Which paper?', schema, askModel: true })
      return `${paper} paper`
    })
    return server
  }
}

interface Served {
  readonly press: Press
  readonly servers: readonly Server[]
  readonly urls: readonly string[]
}

async function serve(engine: EngineName): Promise<Served> {
  const press = new Press()
  const servers = await instancesOver(engine, 2, { asTools: true }, { principal: byName, keys: newKey() })
  for (const server of servers) press.offer(server)
  const urls = await Promise.all(servers.map(async (server) => (await server.listen({ drainOnTerm: false })).url))
  return { press, servers, urls }
}

const taskIn = (result: ToolResult): string => waitingIn(result).ticket

describe.each(ENGINES)('over %s', (engine) => {
  test.each(ASKLESS)(
    '%s runs a tool that is a task, whose page is answered, and reads the result elsewhere',
    async (kind) => {
      const { press, urls } = await serve(engine)
      const client = await askless(kind, urls[0]!, 'ann')
      expect(await client.tools()).toEqual(['task_status', 'task_answer', 'task_cancel', 'print', 'copy', 'choose'])
      const started = await client.call('print', { book: 'Emma' })
      const task = taskIn(started)
      expect(textOf(started)).toContain(`call the tool task_status with {"task":"${task}"}`)
      const refused = await client.call('task_answer', { question: `${task}:agree`, content: { agree: true } })
      expect([refused.isError, textOf(refused)]).toEqual([true, 'A person answers this question, and not the model.'])
      const body = new URLSearchParams({ action: 'accept', 'field.agree': 'yes' })
      expect((await fetch(waitingIn(started).questions[0]?.url ?? '', { method: 'POST', body })).status).toBe(200)
      const elsewhere = await askless(kind, urls[1]!, 'ann')
      expect(textOf(await elsewhere.call('task_status', { task }))).toBe('printed Emma')
      expect(press.printed).toEqual(['Emma'])
    },
  )
})

test.each(CLIENTS)('%s, which shows forms, asks its person by the tool, and not the model', async (kind) => {
  const { press, urls, servers } = await serve('SQLite')
  const client = await connectClient(kind, urls[0]!, { 'x-name': 'ann' }, { elicitation: {} }, { agree: true })
  const started = await client.callTool({ name: 'print', arguments: { book: 'Emma' } })
  const question = `${taskIn(started)}:agree`
  expect(textOf(started)).toContain(`A client that shows forms asks it by task_answer with {"question":"${question}"}`)
  expect(await call(client, 'task_answer', { question, content: { agree: false } })).toBe('printed Emma')
  expect(press.printed).toEqual(['Emma'])
  expect((await servers[0]!.questions.find(question, principalOf('ann')))?.outcome.way).toBe('client')
})

test('the model answers what it may, follows a task that works, and cancels it', async () => {
  const { press, urls } = await serve('SQLite')
  const client = await askless('SDK v2', urls[0]!, 'ann')
  const chosen = await client.call('choose')
  const question = waitingIn(chosen).questions[0]?.id
  expect(textOf(await client.call('task_answer', { question, content: { paper: 'thick' } }))).toBe('thick paper')
  const copying = await client.call('copy', { book: 'Emma' })
  const task = taskIn(copying)
  expect(textOf(copying)).toContain('This call is still at work: 1 of 3, copying Emma.')
  const bob = await askless('SDK v2', urls[1]!, 'bob')
  for (const tool of ['task_status', 'task_cancel'])
    expect(textOf(await bob.call(tool, { task }))).toContain('No call waits under this ticket.')
  const elsewhere = await askless('SDK v1', urls[1]!, 'ann')
  expect(textOf(await elsewhere.call('task_cancel', { task }))).toBe('The task is cancelled.')
  await expect.poll(() => press.cancelled).toEqual(['Emma'])
  press.go()
  expect(textOf(await client.call('task_status', { task }))).toBe('The call was cancelled while it waited.')
  const again = await client.call('task_cancel', { task })
  expect([again.isError, textOf(again)]).toEqual([undefined, 'The task is cancelled.'])
})
