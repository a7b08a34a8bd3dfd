import { answerTask } from 'pannier/client'
import { AuthError, createServer, type Server, type ServerOptions } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { testClient, type TestClientOptions } from 'pannier/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'

const schema = z.object({ ok: z.boolean() })
const ann = { id: 'ann', scopes: ['pay'] }
const answers = { sure: { ok: true } }

/** Lets nobody in by headers. */
const principal = () => {
  throw new AuthError('AUTH_MISSING', 'No token.')
}

function payServer(options: Partial<ServerOptions> = {}): Server {
  return createServer({ name: 'pay', version: '1', principal, ...options })
    .tool('pay', { description: 'Pays', scopes: ['pay'] }, async (_, ctx) => {
      const { ok } = await ctx.ask('sure', { message: 'Sure?', schema })
      return `${ctx.principal?.id}: ${ok}`
    })
    .tool('who', { description: 'Says who calls' }, (_, ctx) => String(ctx.principal?.id))
}

async function clientOf(server: Server, options?: TestClientOptions) {
  const client = await testClient(server, options)
  onTestFinished(() => client.close())
  return client
}

describe.each(['stateless', 'session'] as const)('a client in the era "%s"', (era) => {
  test('calls as its principal, and answers', async () => {
    const server = payServer()
    const client = await clientOf(server, { era, principal: ann, answers })
    expect(await client.callTool({ name: 'pay' })).toMatchObject({ content: [{ text: 'ann: true' }] })
    const bob = await clientOf(server, { era, principal: { id: 'bob' } })
    expect((await bob.listTools()).tools.map(({ name }) => name)).toContain('who')
    await expect(bob.callTool({ name: 'pay' })).rejects.toThrow()
    expect(await bob.callTool({ name: 'who' })).toMatchObject({ content: [{ text: 'bob' }] })
  })

  test('is refused as other clients are, where it has no principal', async () => {
    await expect(testClient(payServer(), { era })).rejects.toThrow()
  })

  test('declares the given capabilities alone', async () => {
    const client = await clientOf(payServer(), { era, principal: ann, capabilities: {}, answers })
    const outcome = await client.callTool({ name: 'pay' }).then(JSON.stringify, String)
    expect(outcome).toContain('elicitation')
  })
})

test('a question without an answer ends the call with its key', async () => {
  const client = await clientOf(payServer(), { principal: ann })
  await expect(client.callTool({ name: 'pay' })).rejects.toThrow(/"sure" was asked and has no answer/)
})

test('a principal needs a server that knows its callers', async () => {
  const server = createServer({ name: 'open', version: '1' })
  await expect(testClient(server, { principal: ann })).rejects.toThrow(/createServer.*principal/)
})

test('a task waits for the client of another principal', async () => {
  const tasks = sqliteTasks({ path: ':memory:', pollMs: 5 })
  let waiting: (id: string) => void
  const notified = new Promise<string>((resolve) => (waiting = resolve))
  const server = createServer({ name: 'pay', version: '1', principal, tasks }).tool(
    'refund',
    { description: 'Refunds', task: 'required' },
    async (_, ctx) => {
      await ctx.step('notify', () => waiting(String(ctx.taskId)))
      const { ok } = await ctx.ask('approve', { message: 'Approve?', schema, by: 'role:manager' })
      return `${ctx.answeredBy('approve')?.subject}: ${ok}`
    },
  )
  onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
  const caller = await clientOf(server, { principal: ann })
  const manager = await clientOf(server, { principal: { id: 'mia', claims: { role: 'manager' } } })
  const refunded = caller.callTool({ name: 'refund' })
  const id = await notified
  await expect
    .poll(() =>
      answerTask(manager, id, { approve: { action: 'accept', content: { ok: true } } }).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true)
  expect(await refunded).toMatchObject({ content: [{ text: 'mia: true' }] })
})
