/** Calls of clients that cannot be asked wait for a person, and continue when they have answered. */
import { createServer, type Server, type ServerOptions } from 'pannier/server'
import { newKey } from 'pannier/state'
import { sqliteTasks } from 'pannier/tasks'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { call, post } from '../fixtures/modernClient.ts'
import { ENGINES, type EngineName, instancesOver } from '../tasks/fixtures/engines.ts'
import { ASKLESS, askless, byName, type Done, offerAsking, principalOf, textOf, waitingIn } from './fixtures/askless.ts'

const keys = newKey()
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

interface Served {
  readonly done: Done
  readonly servers: readonly Server[]
  readonly urls: readonly string[]
}

/** Two instances with one store. */
async function serve(engine: EngineName, options: Partial<ServerOptions> = {}): Promise<Served> {
  const done: Done = { charged: 0, deleted: [] }
  const servers = await instancesOver(engine, 2, {}, { questions: true, principal: byName, keys, ...options })
  for (const server of servers) offerAsking(server, done)
  const urls = await Promise.all(servers.map(async (server) => (await server.listen({ drainOnTerm: false })).url))
  return { done, servers, urls }
}

const branch = { branch: 'old' }
const form = (fields: Record<string, string>) => ({
  method: 'POST',
  body: new URLSearchParams(
    Object.entries(fields).map(([name, value]) => [name === 'action' ? name : `field.${name}`, value]),
  ),
})

describe.each(ENGINES)('over %s', (engine) => {
  test.each(ASKLESS)(
    'a call of %s is answered on the page of one instance and continued at the other one',
    async (kind) => {
      const { urls, done } = await serve(engine)
      const client = await askless(kind, urls[0]!)
      const waiting = await client.call('delete_branch', branch)
      const { ticket, questions } = waitingIn(waiting)
      const link = questions[0]?.url ?? ''
      expect(waiting.isError).toBeUndefined()
      expect(textOf(waiting)).toContain(`The question: Delete the branch old?\nAnswer it here: ${link}`)
      expect(textOf(waiting)).toContain(`call the tool continue_call with {"ticket":"${ticket}"}`)
      expect(await client.tools()).toContain('continue_call')
      const page = await fetch(
        link.replace(urls[0]!, urls[1]!),
        form({ action: 'accept', sure: 'yes', note: 'done with it' }),
      )
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Your answer was sent')])
      const other = await askless(kind, urls[1]!)
      expect(textOf(await other.call('continue_call', { ticket }))).toBe('old is deleted: done with it')
      expect(done).toEqual({ charged: 1, deleted: ['old'] })
    },
  )

  test('the same call of a caller with a name does not begin again until its result was fetched', async () => {
    const { urls, done, servers } = await serve(engine)
    const ann = await askless('SDK v2', urls[0]!, 'ann')
    const { ticket, questions } = waitingIn(await ann.call('delete_branch', branch))
    const [again, elsewhere] = await Promise.all([
      ann.call('delete_branch', branch),
      (await askless('SDK v1', urls[1]!, 'ann')).call('delete_branch', branch),
    ])
    expect([waitingIn(again).ticket, waitingIn(elsewhere).ticket]).toEqual([ticket, ticket])
    const other = waitingIn(await ann.call('delete_branch', { branch: 'new' }))
    expect(other.ticket).not.toBe(ticket)
    const bob = await askless('SDK v2', urls[0]!, 'bob')
    expect(waitingIn(await bob.call('delete_branch', branch)).ticket).not.toBe(ticket)
    await servers[1]?.questions.answer(questions[0]!.id, { sure: true }, principalOf('ann'))
    expect(textOf(await ann.call('delete_branch', branch))).toBe('old is deleted')
    expect(done.deleted).toEqual(['old'])
    expect(waitingIn(await ann.call('delete_branch', branch)).ticket).not.toBe(ticket)
    expect(done.charged).toBe(4)
  })

  test('a ticket is worth nothing to another caller', async () => {
    const { urls, servers } = await serve(engine)
    const ann = await askless('SDK v2', urls[0]!, 'ann')
    const { ticket, questions } = waitingIn(await ann.call('delete_branch', branch))
    for (const name of ['bob', undefined]) {
      const result = await (await askless('SDK v1', urls[1]!, name)).call('continue_call', { ticket })
      expect([result.isError, textOf(result)]).toEqual([
        true,
        expect.stringContaining('No call waits under this ticket.'),
      ])
    }
    const { id } = questions[0]!
    const closed = { code: 'QUESTION_CLOSED' }
    await expect(servers[0]!.questions.answer(id, { sure: true }, principalOf('bob'))).rejects.toMatchObject(closed)
    await expect(servers[0]!.questions.answer(id, {}, principalOf('ann'))).rejects.toMatchObject({
      code: 'PARAMS_INVALID',
    })
  })

  test('a question for a manager is listed and answered by a manager alone, in a program', async () => {
    const { urls, servers } = await serve(engine)
    const ann = await askless('SDK v1', urls[0]!, 'ann')
    const waiting = await ann.call('refund', { cents: 5 })
    expect(textOf(waiting)).toContain('It waits for role:manager to answer: ann asks for 5 cents.')
    const { ticket } = waitingIn(waiting)
    const { questions } = servers[1]!
    expect(await questions.open({ for: principalOf('ann') })).toEqual({ questions: [], nextCursor: undefined })
    const listed = await questions.open({ for: principalOf('mia') })
    expect(listed.questions).toMatchObject([{ tool: 'refund', caller: 'ann', by: ['role:manager'], fourEyes: true }])
    const [question] = listed.questions
    await expect(questions.answer(question!.id, { approve: true }, principalOf('ann'))).rejects.toMatchObject({
      code: 'QUESTION_CLOSED',
    })
    await questions.answer(question!.id, { approve: true }, principalOf('mia'))
    await expect(questions.answer(question!.id, { approve: false }, principalOf('mia'))).rejects.toMatchObject({
      code: 'QUESTION_CLOSED',
    })
    expect(textOf(await ann.call('continue_call', { ticket }))).toBe('5 cents, approved by mia')
    expect(await questions.open({ for: principalOf('mia') })).toEqual({ questions: [], nextCursor: undefined })
  })

  test('a list has pages, and can be of one tool and of a certain age', async () => {
    const { urls, servers } = await serve(engine)
    const ann = await askless('SDK v2', urls[0]!, 'ann')
    for (let cents = 1; cents <= 5; cents++) await ann.call('refund', { cents })
    await ann.call('delete_branch', branch)
    const { questions } = servers[0]!
    const mia = principalOf('mia')
    const first = await questions.open({ for: mia, limit: 3 })
    const second = await questions.open({ for: mia, limit: 3, cursor: first.nextCursor! })
    const messages = [...first.questions, ...second.questions].map(({ message }) => message)
    expect(messages).toEqual([1, 2, 3, 4, 5].map((cents) => `ann asks for ${cents} cents.`))
    expect(second.nextCursor).toBeUndefined()
    expect((await questions.open({ for: mia, tool: 'delete_branch' })).questions).toEqual([])
    expect((await questions.open({ for: principalOf('ann') })).questions).toMatchObject([{ tool: 'delete_branch' }])
    expect((await questions.open({ for: mia, olderThanMs: 3_600_000 })).questions).toEqual([])
  })

  test('a page of a list ends after a megabyte of questions', async () => {
    const { urls, servers } = await serve(engine)
    const ann = await askless('SDK v2', urls[0]!, 'ann')
    const names = Array.from({ length: 25 }, (_, at) => `${at} ${'n'.repeat(60_000)}`)
    for (const name of names) await ann.call('delete_branch', { branch: name })
    const messages: string[] = []
    const lengths: number[] = []
    let cursor: string | undefined
    do {
      const given = { for: principalOf('ann'), limit: 1000, ...(cursor !== undefined && { cursor }) }
      const { questions, nextCursor } = await servers[1]!.questions.open(given)
      messages.push(...questions.map(({ message }) => message))
      lengths.push(questions.length)
      cursor = nextCursor
    } while (cursor !== undefined)
    expect(messages).toEqual(names.map((name) => `Delete the branch ${name}?`))
    expect(lengths).toEqual([17, 8])
  })

  test('a call continues although the instance that asked is gone', async () => {
    const { urls, servers, done } = await serve(engine)
    const { ticket, questions } = waitingIn(await (await askless('SDK v2', urls[0]!)).call('delete_branch', branch))
    await servers[0]!.drain({ deadlineMs: 0, idleMs: 0 })
    const link = (questions[0]?.url ?? '').replace(urls[0]!, urls[1]!)
    expect((await fetch(link, form({ action: 'accept', sure: 'yes' }))).status).toBe(200)
    const other = await askless('SDK v1', urls[1]!)
    expect(textOf(await other.call('continue_call', { ticket }))).toBe('old is deleted')
    expect(done).toEqual({ charged: 1, deleted: ['old'] })
  })
})

describe.each(ENGINES)('over %s, equal calls of one caller at the same time', (engine) => {
  test('have one ticket, at whichever instance they arrive', async () => {
    const { urls } = await serve(engine)
    const clients = await Promise.all([...urls, ...urls].map((url) => askless('SDK v2', url, 'ann')))
    const waiting = await Promise.all(clients.map((client) => client.call('delete_branch', branch)))
    expect(new Set(waiting.map((result) => waitingIn(result).ticket)).size).toBe(1)
  })
})

test('a result whose client has left is still there for the same call', async () => {
  const { server, work } = slowServer()
  const url = (await server.listen({ drainOnTerm: false })).url
  const ann = await askless('SDK v2', url, 'ann')
  const { questions } = waitingIn(await ann.call('slow'))
  await server.questions.answer(questions[0]!.id, {}, principalOf('ann'))
  const abort = new AbortController()
  const left = call(url, 'slow', {}, { capabilities: {}, headers: { 'x-name': 'ann' }, signal: abort.signal })
  await vi.waitFor(() => expect(server.inFlight).toBe(1))
  abort.abort()
  await expect(left).rejects.toThrow()
  await vi.waitFor(() => expect(server.inFlight).toBe(0))
  work.resolve()
  expect(textOf(await ann.call('slow'))).toBe('done')
})

test('a caller who may no longer call the tool gets nothing of it', async () => {
  let mayCall = true
  const { server, work } = slowServer(() => mayCall)
  work.resolve()
  const ann = await askless('SDK v2', (await server.listen({ drainOnTerm: false })).url, 'ann')
  const { ticket, questions } = waitingIn(await ann.call('slow'))
  mayCall = false
  const answer = server.questions.answer(questions[0]!.id, {}, principalOf('ann'))
  await expect(answer).rejects.toMatchObject({ code: 'QUESTION_CLOSED' })
  expect(textOf(await ann.call('continue_call', { ticket }))).toContain('No call waits under this ticket.')
})

/** A server with a tool that asks, and then works until the test says so. */
function slowServer(allow: () => boolean = () => true) {
  const tasks = sqliteTasks({ path: ':memory:' })
  const server = createServer({ name: 'slow', version: '1', logger: quiet, principal: byName, questions: true, tasks })
  const work = Promise.withResolvers<void>()
  onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
  server.tool('slow', { description: 'Works.', allow }, async (_, ctx) => {
    await ctx.ask('sure', { message: 'Sure?', schema: z.object({}) })
    await work.promise
    return 'done'
  })
  return { server, work }
}

test('a tool with an output schema waits with an error, because clients refuse a result without structured content', async () => {
  const { urls, servers } = await serve('SQLite')
  const client = await askless('SDK v1', urls[0]!, 'ann')
  await client.tools()
  const waiting = await client.call('count')
  expect(waiting.isError).toBe(true)
  const { ticket, questions } = waitingIn(waiting)
  await servers[0]!.questions.answer(questions[0]!.id, { count: 7 }, principalOf('ann'))
  expect(await client.call('continue_call', { ticket })).toMatchObject({ structuredContent: { count: 7 } })
})

test('a declined question is what the tool makes of it', async () => {
  const { urls, servers, done } = await serve('SQLite')
  const client = await askless('SDK v2', urls[0]!, 'ann')
  const { ticket, questions } = waitingIn(await client.call('delete_branch', branch))
  await servers[0]!.questions.answer(questions[0]!.id, 'decline', principalOf('ann'))
  expect(await client.call('continue_call', { ticket })).toMatchObject({ isError: true })
  expect(done.deleted).toEqual([])
})

test('a tool that also needs the model of the client fails, because nobody else can give that', async () => {
  const { urls, servers } = await serve('SQLite')
  const client = await askless('SDK v2', urls[0]!, 'ann')
  const { ticket, questions } = waitingIn(await client.call('summarize'))
  await servers[0]!.questions.answer(questions[0]!.id, {}, principalOf('ann'))
  const result = await client.call('continue_call', { ticket })
  expect([result.isError, textOf(result)]).toEqual([true, 'This needs a client that declares: sampling.'])
})

test('without the option a call of a client that cannot be asked fails as before, and there is no tool to continue', async () => {
  const { urls } = await serve('SQLite', { questions: false })
  const client = await askless('SDK v2', urls[0]!)
  await expect(client.call('delete_branch', branch)).rejects.toMatchObject({ code: -32021 })
  expect(await client.tools()).not.toContain('continue_call')
})

describe('a tool that needs what its client has not', () => {
  const needing = (options: Partial<ServerOptions>) => {
    const ran: string[] = []
    const server = createServer({ name: 'needs', version: '1', logger: quiet, ...options })
    for (const need of ['elicitation', 'elicitation.url', 'sampling', 'roots'] as const) {
      server.tool(need, { description: 'Needs it.', needs: [need] }, async (_, ctx) => {
        ran.push(need)
        return need === 'elicitation'
          ? `${(await ctx.ask('a', { message: 'A?', schema: z.object({ a: z.string() }) })).a}`
          : 'done'
      })
    }
    onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
    return { server, ran }
  }

  test.each(ASKLESS)('is refused to %s with a sentence for people, before its handler runs', async (kind) => {
    const { server, ran } = needing({})
    const client = await askless(kind, (await server.listen({ drainOnTerm: false })).url)
    const refused = (tool: string, why: string) =>
      expect(client.call(tool)).rejects.toThrow(
        `The tool "${tool}" ${why}. Use a client that declares ${tool}. Nothing was done.`,
      )
    await refused('elicitation', 'asks a person, and this client cannot show questions')
    await refused('elicitation.url', 'sends a person to a web page, and this client cannot open one')
    await refused('sampling', "uses the client's model, and this client offers none")
    await refused('roots', 'works in the folders of its client, and this client names none')
    expect(ran).toEqual([])
  })

  test('waits for the person where questions can be answered elsewhere, and is refused what nobody else has', async () => {
    const { server, ran } = needing({ questions: true, tasks: sqliteTasks({ path: ':memory:' }) })
    const client = await askless('SDK v2', (await server.listen({ drainOnTerm: false })).url)
    expect(waitingIn(await client.call('elicitation')).questions).toMatchObject([{ message: 'A?' }])
    await expect(client.call('sampling')).rejects.toMatchObject({ code: -32021 })
    expect(new Set(ran)).toEqual(new Set(['elicitation']))
  })

  test('is called by a client that has it', async () => {
    const { server } = needing({})
    const { url } = await server.listen({ drainOnTerm: false })
    const { message } = await call(url, 'elicitation.url', {}, { capabilities: { elicitation: { url: {} } } })
    expect(message.result.content[0].text).toBe('done')
  })

  test.each(ASKLESS)('is not listed for %s, where the server says so', async (kind) => {
    const { server } = needing({ listUncallable: false })
    server.tool('echo', { description: 'Needs nothing.' }, () => 'echo')
    const { url } = await server.listen({ drainOnTerm: false })
    expect(await (await askless(kind, url)).tools()).toEqual(['echo'])
    const { tools, cacheScope } = (
      await post(url, { method: 'tools/list', capabilities: { elicitation: {}, roots: {} } })
    ).message.result
    expect([tools.map(({ name }: { name: string }) => name), cacheScope]).toEqual([
      ['elicitation', 'roots', 'echo'],
      'private',
    ])
    const waits = needing({ listUncallable: false, questions: true, tasks: sqliteTasks({ path: ':memory:' }) })
    const client = await askless(kind, (await waits.server.listen({ drainOnTerm: false })).url)
    expect(await client.tools()).toEqual(['continue_call', 'elicitation'])
  })

  test('names only what exists', () => {
    expect(() => needing({}).server.tool('x', { description: 'X.', needs: ['elicit' as never] }, () => '')).toThrow(
      'In the tool "x", "needs" is a list of elicitation, elicitation.url, sampling, roots.',
    )
  })
})

test('a tool that runs only as a task works with a client that knows no tasks', async () => {
  const server = createServer({
    name: 'long',
    version: '1',
    logger: quiet,
    questions: true,
    tasks: sqliteTasks({ path: ':memory:' }),
  })
  onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
  server.tool('build', { description: 'Builds.', task: 'required' }, async (_, ctx) => {
    const { target } = await ctx.ask('target', { message: 'Which target?', schema: z.object({ target: z.string() }) })
    return `built ${target}`
  })
  const client = await askless('SDK v1', (await server.listen({ drainOnTerm: false })).url)
  expect(await client.tools()).toContain('build') // from here on this client refuses to call what only runs as a task
  const { ticket, questions } = waitingIn(await client.call('build'))
  await fetch(questions[0]?.url ?? '', form({ action: 'accept', target: 'all' }))
  expect(textOf(await client.call('continue_call', { ticket }))).toBe('built all')
})

test('a handler that has effects before it asks whom nobody can ask is warned of once', async () => {
  const warnings: unknown[] = []
  const logger = { ...quiet, warn: (...line: unknown[]) => void warnings.push(line) }
  const server = createServer({ name: 'charging', version: '1', logger, keys })
  onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
  const ask = { message: 'Sure?', schema: z.object({ sure: z.boolean() }) }
  server.tool('charge', { description: 'Charges, and asks.' }, async (_, ctx) => {
    await ctx.once('charge', () => undefined)
    return String((await ctx.ask('sure', ask)).sure)
  })
  server.tool('careful', { description: 'Asks.' }, async (_, ctx) => String((await ctx.ask('sure', ask)).sure))
  const client = await askless('SDK v2', (await server.listen({ drainOnTerm: false })).url)
  for (const tool of ['careful', 'charge', 'charge'])
    await expect(client.call(tool)).rejects.toMatchObject({ code: -32021 })
  expect(warnings).toEqual([
    [
      { method: 'tools/call', name: 'charge' },
      'It had effects, and then asks a person, and this client cannot show questions. Give it "needs".',
    ],
  ])
})
