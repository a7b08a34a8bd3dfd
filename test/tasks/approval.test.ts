/** Questions for somebody else than the caller: who sees them, who may answer, and who may not. */
import { generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { bearer, type Context, createServer, type Server } from 'pannier/server'
import { newKey } from 'pannier/state'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { expenseServer } from '../../docs/snippets/approval.ts'
import { accept, TASKS, TaskCaller, type Wire } from '../fixtures/modernClient.ts'
import { startMortal } from '../interop/fixtures/instances.ts'
import { post, RawSession } from '../interop/fixtures/rawSession.ts'
import { listening } from './fixtures/echoServer.ts'
import { ENGINES, type EngineName, newTasks } from './fixtures/engines.ts'

const ISSUER = 'https://login.example.com'
const RESOURCE = 'https://mcp.example.com/mcp'
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const principal = bearer({ issuer: ISSUER, audience: RESOURCE, key: publicKey })
const silent = { debug() {}, info() {}, warn() {}, error() {} }

const UNKNOWN = { code: -32602, message: 'There is no task with this id, or it has expired.' }
const yes = { approve: accept({ approve: true }) }

async function headersOf(sub: string, claims: Record<string, unknown> = {}): Promise<Record<string, string>> {
  const token = new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA' }).setIssuer(ISSUER).setAudience(RESOURCE)
  return { authorization: `Bearer ${await token.setSubject(sub).setExpirationTime('5m').sign(privateKey)}` }
}

/** Who is there. Eve's claims are near misses. */
async function people(url: string) {
  const caller = async (sub: string, claims?: object) =>
    new TaskCaller(url, { headers: await headersOf(sub, { ...claims }) })
  return {
    ann: await caller('ann', { roles: ['clerk'] }),
    max: await caller('max', { roles: ['clerk', 'manager'] }),
    mia: await caller('mia', { role: 'manager' }),
    eve: await caller('eve', { roles: ['managers', 'role:manager', ['manager']], role: 'manager ', manager: true }),
    director: await caller('dan', { roles: ['director'] }),
    anyone: new TaskCaller(url),
  }
}

interface Served {
  readonly url: string
  readonly notified: string[]
  readonly paid: unknown[]
}

async function serveExpenses(engine: EngineName): Promise<Served> {
  const notified: string[] = []
  const paid: unknown[] = []
  const open = new Map<string, string>()
  const accounting = {
    notify: async (taskId: string, what: string) => {
      notified.push(taskId)
      open.set(taskId, what)
    },
    decided: async (taskId: string) => void open.delete(taskId),
    waiting: async () => Array.from(open, ([taskId, what]) => ({ taskId, what })),
    pay: async (cents: number, approvedBy: string) => {
      paid.push([cents, approvedBy])
      return { receipt: 'R1' }
    },
  }
  const server = expenseServer({ tasks: await newTasks(engine), principal, accounting, logger: silent })
  onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
  return { url: await listening(server), notified, paid }
}

const expense = { what: 'a train ticket', cents: 4200 }
const DONE = `Refunded a train ticket, approved by mia; the receipt is R1.`

describe.each(ENGINES)('over %s, a question by role:manager', (engine) => {
  test('is seen and answered by a manager alone, and the handler learns who that was', async () => {
    const { url, notified, paid } = await serveExpenses(engine)
    const { ann, mia, eve, director } = await people(url)
    const task = await ann.create('refund', expense)
    expect(await ann.until(task, 'input_required')).toMatchObject({
      inputRequests: {},
      statusMessage: 'It waits for role:manager.',
    })
    expect(notified).toEqual([task])
    for (const other of [eve, director]) {
      expect(await other.get(task)).toEqual(UNKNOWN)
      expect(await other.update(task, yes)).toEqual(UNKNOWN)
      expect(await other.cancel(task)).toEqual(UNKNOWN)
    }
    const own = await ann.update(task, yes)
    expect(own).toEqual({ code: -32602, message: 'Only role:manager may answer "approve", and not this caller.' })
    const seen = await mia.get(task)
    expect(seen).toMatchObject({ status: 'input_required', taskId: task })
    expect(seen.inputRequests.approve.params.message).toContain('ann asks for 42 € for a train ticket')
    expect(await mia.cancel(task)).toEqual(UNKNOWN)
    expect(paid).toEqual([])
    expect(await mia.update(task, yes)).not.toHaveProperty('code')
    expect(await ann.until(task, 'completed')).toMatchObject({ result: { content: [{ text: DONE }] } })
    expect(paid).toEqual([[4200, 'mia']])
    expect(await mia.get(task)).toEqual(UNKNOWN)
    expect(await mia.update(task, { approve: accept({ approve: false }) })).toEqual(UNKNOWN)
  })

  test('is found by a manager in the list of the guide, until it is answered, and by nobody else', async () => {
    const { url } = await serveExpenses(engine)
    const { ann, mia, eve, anyone } = await people(url)
    const task = await ann.create('refund', expense)
    await ann.until(task, 'input_required')
    const listed = (text: string) => ({ content: [{ text }] })
    expect(await mia.call('waiting_refunds')).toMatchObject(listed(`${task}: a train ticket`))
    for (const other of [ann, eve, anyone]) expect(await other.call('waiting_refunds')).not.toHaveProperty('content')
    await mia.update(task, yes)
    await ann.until(task, 'completed')
    expect(await mia.call('waiting_refunds')).toMatchObject(listed('Nothing waits.'))
  })

  test('of two managers who answer at once takes one answer, and no manager approves an own call', async () => {
    const { url, paid } = await serveExpenses(engine)
    const { max, mia } = await people(url)
    const task = await max.create('refund', expense)
    expect(await max.until(task, 'input_required')).toMatchObject({ inputRequests: {} })
    expect(await max.update(task, yes)).toMatchObject({ code: -32602 })
    await Promise.all([mia.update(task, yes), mia.update(task, { approve: accept({ approve: false }) })])
    const { result } = await max.until(task, 'completed')
    expect(paid.length).toBe(result.content[0].text.startsWith('Refunded') ? 1 : 0)
  })

  test('in a session is pushed to a manager who asks for the result, and to nobody else', async () => {
    const { url, paid } = await serveExpenses(engine)
    const begin = async (sub: string, role: string) =>
      RawSession.begin(url, { capabilities: { elicitation: {} }, headers: await headersOf(sub, { role }) })
    const [ann, eve, mia] = [await begin('ann', 'clerk'), await begin('eve', 'clerk'), await begin('mia', 'manager')]
    const { result } = await ann.request('tools/call', { name: 'refund', arguments: expense, task: {} })
    const { taskId } = (result as { task: { taskId: string } }).task
    const waiting = ann.request('tasks/result', { taskId })
    const status = async () => (await ann.request('tasks/get', { taskId })).result
    await expect.poll(status).toMatchObject({ status: 'input_required', statusMessage: 'It waits for role:manager.' })
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect((await eve.request(method, { taskId })).error, method).toEqual(UNKNOWN)
    }
    expect((await mia.request('tasks/list')).result).toEqual({ tasks: [] })
    expect((await mia.request('tasks/cancel', { taskId })).error).toEqual(UNKNOWN)
    const stream = await mia.open('tasks/result', { taskId })
    const question = await stream.next()
    const demoted = { ...mia.headers, ...(await headersOf('mia', { role: 'clerk' })) }
    await post(url, demoted, { jsonrpc: '2.0', id: question.id, result: yes.approve })
    expect([await status(), paid]).toMatchObject([{ status: 'input_required' }, []])
    await mia.answer(question, yes.approve)
    const taken = (await stream.next()) as Wire
    expect(taken.result.content[0].text).toBe(
      'There is nothing more to answer; the result of the task goes to its owner.',
    )
    expect(await waiting).toMatchObject({ result: { content: [{ text: DONE }] } })
    expect(paid).toEqual([[4200, 'mia']])
  })

  test('in a session with rounds is answered by tasks/input_response of a manager', async () => {
    const { url, paid } = await serveExpenses(engine)
    const capabilities = { elicitation: {}, experimental: { 'dev.pannier/rounds': {} } }
    const begin = async (sub: string, role: string) =>
      RawSession.begin(url, { capabilities, headers: await headersOf(sub, { role }) })
    const [ann, mia] = [await begin('ann', 'clerk'), await begin('mia', 'manager')]
    const { result } = await ann.request('tools/call', { name: 'refund', arguments: expense, task: {} })
    const { taskId } = (result as { task: { taskId: string } }).task
    const outcome = async (session: RawSession) => (await session.request('tasks/result', { taskId })).result
    await expect.poll(() => outcome(mia)).toMatchObject({ inputRequests: { approve: {} } })
    expect(await outcome(ann)).toMatchObject({ resultType: 'input_required', inputRequests: {} })
    const answer = { inputResponses: yes, _meta: { 'io.modelcontextprotocol/related-task': { taskId } } }
    expect((await ann.request('tasks/input_response', answer)).error).toMatchObject({ code: -32602 })
    expect((await mia.request('tasks/input_response', answer)).error).toBeUndefined()
    await expect.poll(() => outcome(ann)).toMatchObject({ content: [{ text: DONE }] })
    expect(paid).toEqual([[4200, 'mia']])
  })

  test('beside questions to others: each sees and answers what is theirs, and a wrong answer is asked for again', async () => {
    const server = createServer({
      name: 'mixed',
      version: '1',
      logger: silent,
      principal,
      tasks: await newTasks(engine),
    })
    onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
    const form = { message: 'Well?', schema: z.object({ approve: z.boolean() }) }
    server.tool('mixed', { description: 'Asks three.', task: 'required' }, async (_, ctx) => {
      await ctx.ask({
        mine: form,
        manager: { ...form, by: 'role:manager' },
        either: { ...form, by: ['sub:dan', 'role:manager'] },
      })
      return ['mine', 'manager', 'either'].map((key) => ctx.answeredBy(key)?.subject).join(' ')
    })
    const { ann, mia, director } = await people(await listening(server))
    const task = await ann.create('mixed')
    const keys = async (who: TaskCaller) => Object.keys((await who.get(task)).inputRequests)
    await ann.until(task, 'input_required')
    expect([await keys(ann), await keys(mia), await keys(director)]).toEqual([
      ['mine'],
      ['manager', 'either'],
      ['either'],
    ])
    expect((await ann.get(task)).statusMessage).toBe('It waits for role:manager, and sub:dan or role:manager.')
    const ok = accept({ approve: true })
    await director.update(task, { mine: ok, manager: ok })
    expect(await keys(mia)).toEqual(['manager', 'either'])
    await director.update(task, { either: ok })
    await mia.update(task, { manager: { action: 'perhaps' } })
    expect(await keys(mia)).toEqual(['manager~2'])
    expect(await ann.update(task, { mine: ok, 'manager~2': ok })).toMatchObject({ code: -32602 })
    await mia.update(task, { 'manager~2': ok, mine: ok })
    expect(await director.get(task)).toEqual(UNKNOWN)
    await ann.update(task, { mine: ok })
    const said = 'ann mia dan'
    expect(await ann.until(task, 'completed')).toMatchObject({ result: { content: [{ text: said }] } })
  })
})

describe('an ordinary call with a question by role:manager', () => {
  const approveForm = { message: 'Approve?', schema: z.object({ approve: z.boolean() }), by: 'role:manager' }
  const untasked = { elicitation: {} }

  async function approving(_: unknown, ctx: Context): Promise<string> {
    const { approve } = await ctx.ask('approve', approveForm)
    return `${approve} by ${ctx.answeredBy('approve')?.subject}`
  }

  function offer(server: Server): Server {
    onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
    server.tool('plain', { description: 'No task.' }, approving)
    return server.tool('starts', { description: 'A call first.', task: 'optional', startsAs: 'call' }, approving)
  }

  async function serve(): Promise<string> {
    const tasks = await newTasks('SQLite')
    return listening(offer(createServer({ name: 'calls', version: '1', logger: silent, principal, tasks })))
  }

  const STATE_ECHO = { 'dev.pannier/state-echo': {} }
  const LOST_ROLE = expect.stringMatching(/^Only role:manager may answer "approve", and only a task can wait/)

  /** A manager is asked by a plain call, and answers with a newer token of theirs, which has no such role. */
  async function askedInSession(url: string, known = url, experimental = {}) {
    const headers = await headersOf('mia', { role: 'manager' })
    const session = await RawSession.begin(url, { capabilities: { elicitation: {}, experimental }, headers })
    session.url = known // so that both instances know each other
    await session.request('ping')
    session.url = url
    const mia = await session.call('plain')
    const { id, state } = await mia.next()
    const demoted = { ...session.headers, ...(await headersOf('mia', { role: 'clerk' })) }
    return { session, mia, demoted, question: { jsonrpc: '2.0', id, state, result: yes.approve } }
  }

  test('asks a caller who is a manager, checks that again when the answer comes, and is bound to that caller', async () => {
    const url = await serve()
    const caller = async (sub: string, role: string) =>
      new TaskCaller(url, { capabilities: untasked, headers: await headersOf(sub, { role }) })
    const [mia, demoted, max] = [
      await caller('mia', 'manager'),
      await caller('mia', 'clerk'),
      await caller('max', 'manager'),
    ]
    const { requestState, inputRequests } = await mia.call('plain')
    expect(Object.keys(inputRequests)).toEqual(['approve'])
    const round = { requestState, inputResponses: yes }
    expect(await demoted.call('plain', {}, round)).toMatchObject({ isError: true })
    expect(await max.call('plain', {}, round)).toMatchObject({ code: -32602 })
    expect(await mia.call('plain', {}, round)).toMatchObject({ content: [{ text: 'true by mia' }] })
  })

  test('fails with a sentence for others, whatever they send along', async () => {
    const url = await serve()
    const clerk = new TaskCaller(url, { capabilities: untasked, headers: await headersOf('ann') })
    for (const tool of ['plain', 'starts']) {
      const result = await clerk.call(tool, {}, { inputResponses: yes })
      expect(result.isError).toBe(true)
      expect(result.content[0].text).toMatch(/^Only role:manager may answer "approve", and only a task can wait/)
      expect(result.content[0].text).toContain(tool === 'plain' ? 'the option "task"' : 'This call is no task')
    }
    const session = await RawSession.begin(url, {
      capabilities: { elicitation: {} },
      headers: await headersOf('ann', { roles: 'clerk' }),
    })
    const stream = await session.call('plain')
    expect(await stream.rest()).toMatchObject([{ result: { isError: true } }])
  })

  test('in a session fails when the caller is no manager any more by the token of the answer', async () => {
    const url = await serve()
    const { mia, question, demoted } = await askedInSession(url)
    await post(url, demoted, question)
    expect(await mia.rest()).toMatchObject([{ result: { isError: true, content: [{ text: LOST_ROLE }] } }])
  })

  test.each(['before', 'after'])(
    'handed to another instance, fails when the token of an answer that comes %s it waits there has no such role',
    async (when) => {
      const keys = newKey()
      const instance = async () =>
        createServer({ name: 'calls', version: '1', logger: silent, principal, keys, tasks: await newTasks('SQLite') })
      const [first, second] = [offer(await instance()), offer(await instance())]
      const [begun, run] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      second.use(async (_, next) => {
        begun.resolve()
        if (when === 'before') await run.promise
        return next()
      })
      const url = await listening(second)
      const { session, mia, question, demoted } = await askedInSession(await listening(first), url)
      await first.drain({ deadlineMs: 1000, idleMs: 0 })
      await begun.promise
      session.url = url
      const resumed = await session.listen(mia.lastEventId)
      await post(url, demoted, question)
      run.resolve()
      expect(await resumed.rest()).toMatchObject([{ result: { isError: true, content: [{ text: LOST_ROLE }] } }])
    },
  )

  test('revived from its state after its instance was killed, fails when the token of the answer has no such role', async () => {
    const [first, second] = [await startMortal({ principal }), await startMortal({ principal })]
    onTestFinished(() => second.close())
    for (const { server } of [first, second]) server.tool('plain', { description: 'No task.' }, approving)
    const { session, mia, question, demoted } = await askedInSession(first.url, second.url, STATE_ECHO)
    first.close()
    session.url = second.url
    const resumed = await session.listen(mia.lastEventId)
    await post(second.url, demoted, question)
    expect(await resumed.rest()).toMatchObject([{ result: { isError: true, content: [{ text: LOST_ROLE }] } }])
  })

  test('becomes a task where it can, which a manager answers', async () => {
    const url = await serve()
    const { ann, mia } = await people(url)
    const task = await ann.create('starts')
    expect(await ann.until(task, 'input_required')).toMatchObject({ statusMessage: 'It waits for role:manager.' })
    await mia.update(task, yes)
    const text = 'true by mia'
    expect(await ann.until(task, 'completed')).toMatchObject({ result: { content: [{ text }] } })
  })

  test('fails on a server that does not know its callers', async () => {
    const tasks = await newTasks('SQLite')
    const url = await listening(offer(createServer({ name: 'anonymous', version: '1', logger: silent, tasks })))
    const client = new TaskCaller(url, { capabilities: { elicitation: {}, extensions: { [TASKS]: {} } } })
    const result = await client.call('plain')
    expect(result.content[0].text).toMatch(/does not know its callers; give it a "principal"/)
  })

  test('goes by a rule of the server, where there is one', async () => {
    const approves = ({ claims }: { claims?: Readonly<Record<string, unknown>> }, by: string) =>
      by === 'role:manager' && claims?.['level'] === 7
    const tasks = await newTasks('SQLite')
    const options = { name: 'ruled', version: '1', logger: silent, principal, approves, tasks }
    const url = await listening(offer(createServer(options)))
    const caller = async (claims: object) =>
      new TaskCaller(url, { capabilities: untasked, headers: await headersOf('ann', { ...claims }) })
    expect(await (await caller({ level: 7 })).call('plain')).toMatchObject({ resultType: 'input_required' })
    expect(await (await caller({ level: 6, role: 'manager' })).call('plain')).toMatchObject({ isError: true })
  })
})
