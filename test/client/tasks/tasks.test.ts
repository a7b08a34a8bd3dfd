/** Calls that become tasks under each official client, over each transport and in each dialect, against our server. */
import {
  type Answerer,
  type Answerers,
  answerTask,
  type Asked,
  cancelTask,
  compose,
  connect,
  getTask,
  jar,
  resume,
  rounds,
  suspend,
  suspendedOf,
  type Task,
  taskOf,
  tasks,
  type TasksOptions,
  watchTask,
} from 'pannier/client'
import type { Client } from '@modelcontextprotocol/client'
import { createServer } from 'pannier/server'
import { memoryJar } from 'pannier/state'
import { sqliteTasks } from 'pannier/tasks'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KEYS, quiet } from '../../interop/fixtures/instances.ts'
import { proves } from '../../proves.ts'
import type { Loose } from '../fixtures/fakeTransport.ts'
import { offerTasks } from '../fixtures/taskTools.ts'
import { type Place, taskWays } from '../fixtures/taskClients.ts'
import { accept, type AnyClient, callTool, text } from '../fixtures/clients.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-client-tasks-'))
let place: Place

beforeAll(async () => {
  const store = sqliteTasks({ path: join(folder, 'tasks.db'), pollMs: 100 })
  const server = offerTasks(
    createServer({ name: 'task-shop', version: '1.0.0', keys: KEYS, logger: quiet, tasks: store }),
  )
  place = { server, url: (await server.listen({ drainOnTerm: false })).url }
})
afterAll(async () => {
  await place.server.drain({ deadlineMs: 0 })
  rmSync(folder, { recursive: true, force: true })
})

describe.each(taskWays)('$name', ({ dialect, isShared, connect: open }) => {
  const isPublished = dialect === 'published'
  const contents: Record<string, Record<string, unknown>> = {
    'For whom?': { name: 'Ann' },
    'Which colour?': { colour: 'red', coats: 2 },
  }
  const form = (params: Loose) => accept(contents[params.message] ?? {})
  const fill: Answerer = ({ request }) => form(request.params)
  const asked: Asked[] = []
  let answer = fill
  const answerers: Answerers = { form: (question) => (asked.push(question), answer(question)) }
  const statuses: Task[] = []
  const onStatus = (task: Task) => void statuses.push(task)
  const opened: AnyClient[] = []

  /** In the dialect as published nothing of ours is declared, and the client's own handler answers. */
  async function client(options: TasksOptions = {}): Promise<AnyClient> {
    const asking = compose(rounds({ answerers }), tasks({ answerers, onStatus, ...options }))
    const following = isPublished ? tasks({ onStatus, ...options }) : asking
    const kept = jar(memoryJar(), { server: 'tasks.example', principal: 'ann', context: 'tasks' })
    const made = await open(place, compose(following, kept), isPublished ? form : undefined)
    opened.push(made)
    return made
  }

  let shared: AnyClient
  let leaving: AnyClient

  beforeAll(async () => {
    ;[shared, leaving] = await Promise.all([client(), client({ handle: true })])
  })
  beforeEach(() => {
    asked.length = 0
    statuses.length = 0
    answer = fill
  })
  afterAll(async () => {
    await Promise.all(opened.map((each) => each.close()))
  })

  async function become(client: AnyClient, taskId: string, wanted: Partial<Task>): Promise<void> {
    await expect.poll(() => getTask(client as Loose, taskId)).toMatchObject(wanted)
  }

  proves('MRTR-30 MRTR-31', 'what a task asks is answered once, and the caller gets its result', async () => {
    const progress: number[] = []
    const onprogress = (each: Loose) => void progress.push(each.progress)
    expect(await callTool(shared, 'greet', {}, { onprogress })).toMatchObject(text('Dear Ann'))
    if (!isPublished) expect(asked).toMatchObject([{ key: 'whom', call: { method: 'tools/call', name: 'greet' } }])
    expect(statuses.map(({ status }) => status)).toEqual(
      expect.arrayContaining(['working', 'input_required', 'completed']),
    )
    expect(progress).toHaveLength(statuses.length)
    expect(progress).toEqual([...new Set(progress)].toSorted((one, other) => one - other))
  })

  test('several questions at once are answered together, and many tasks side by side', async () => {
    const calls = Array.from({ length: 5 }, () => callTool(shared, 'paint'))
    for (const result of await Promise.all(calls)) expect(result).toMatchObject(text('2 coats of red for Ann'))
  })

  proves('MRTR-38', 'a call that asks before it is a task is answered in both', async () => {
    expect(await callTool(shared, 'order')).toMatchObject(text('red for Ann'))
  })

  test('structured content is checked by the client, and a failure is the tool’s', async () => {
    await shared.listTools()
    const calls = [callTool(shared, 'sum', { a: 1, b: 2 }), callTool(shared, 'fail'), callTool(shared, 'plain')]
    const [sum, fail, plain] = await Promise.all(calls)
    expect(sum).toMatchObject({ structuredContent: { sum: 3 } })
    expect(fail).toMatchObject({ isError: true, ...text('Out of paint.') })
    expect(plain).toMatchObject(text('at once'))
    expect(await callTool(shared, 'either')).toMatchObject(text('either way'))
  })

  test('what the server has the client keep comes with the result', async () => {
    expect(await callTool(shared, 'keep')).toMatchObject(text('visit 1'))
    expect(await callTool(shared, 'keep')).toMatchObject(text('visit 2'))
  })

  proves('MRTR-32', 'a call that is given up cancels its task', async () => {
    const abort = new AbortController()
    const call = callTool(shared, 'dry', {}, { signal: abort.signal })
    await expect.poll(() => statuses.length).toBeGreaterThan(0)
    abort.abort()
    await expect(call).rejects.toThrow()
    await become(shared, statuses[0]!.taskId, { status: 'cancelled' })
  })

  test('a handle is looked at, answered and followed by another client', async () => {
    const { taskId } = taskOf(await callTool(leaving, 'greet'))!
    const other = (isShared ? shared : leaving) as Loose
    await become(other, taskId, { status: 'input_required' })
    const { inputRequests } = await getTask(other, taskId)
    expect(inputRequests && Object.keys(inputRequests)).toEqual(isPublished ? undefined : ['whom'])
    const answering = (answers: Loose) => answerTask(other, taskId, answers)
    if (isPublished) await expect(answering({ whom: {} })).rejects.toMatchObject({ code: 'TASK_UNANSWERABLE' })
    else {
      await expect(answering({ who: { name: 'Zoe' } })).rejects.toMatchObject({ code: 'QUESTION_UNANSWERED' })
      await expect(answering({ whom: { name: 7 } })).rejects.toMatchObject({ code: 'RESPONSE_INVALID' })
      await answering({ whom: { name: 'Zoe' } })
    }
    const heard: string[] = []
    const watched = watchTask(other, taskId, { onStatus: ({ status }) => void heard.push(status) })
    const result = text(isPublished ? 'Dear Ann' : 'Dear Zoe')
    expect(await watched).toMatchObject(result)
    expect(heard.at(-1)).toBe('completed')
    expect(asked).toEqual([])
    expect(await getTask(other, taskId)).toMatchObject({ status: 'completed', result })
  })

  test('a task goes on when nobody looks any more, until it is cancelled', async () => {
    const { taskId } = taskOf(await callTool(leaving, 'dry'))!
    const other = (isShared ? shared : leaving) as Loose
    const abort = new AbortController()
    const watching = watchTask(other, taskId, { signal: abort.signal })
    await become(other, taskId, { statusMessage: 'still wet' })
    abort.abort()
    await expect(watching).rejects.toThrow()
    expect(await getTask(other, taskId)).toMatchObject({ status: 'working' })
    await cancelTask(other, taskId)
    await become(other, taskId, { status: 'cancelled' })
    await expect(watchTask(other, taskId)).rejects.toMatchObject({ data: { code: 'TASK_CANCELLED' } })
  })

  test('a task that nobody has is unknown', async () => {
    await expect(getTask(shared as Loose, 'nonsense')).rejects.toMatchObject({ code: -32602 })
    await expect(watchTask(shared as Loose, 'nonsense')).rejects.toMatchObject({ code: -32602 })
  })

  // A question that is pushed cannot wait: its server holds it open.
  const sleeping = isPublished ? [] : ['call', 'watch']
  test.each(sleeping)('a question that is suspended in a %s is answered later, by another client', async (way) => {
    answer = suspend()
    const { taskId } = taskOf(await callTool(leaving, 'paint'))!
    const first = (isShared ? shared : leaving) as Loose
    const asleep = way === 'call' ? await callTool(shared, 'paint') : await watchTask(first, taskId)
    const saved = suspendedOf(asleep)?.saved
    expect(Object.keys(saved?.inputRequests ?? {}).toSorted()).toEqual(['paint', 'whom'])
    const answers = { whom: { name: 'Kim' }, paint: { colour: 'blue', coats: 3 } }
    const later = (isShared || way === 'watch' ? leaving : shared) as Loose
    expect(await resume(JSON.stringify(saved), answers, later)).toMatchObject(text('3 coats of blue for Kim'))
  })
})

test('without the layer, what is asked of it is told to be missing', async () => {
  for (const { connect: open } of taskWays.filter(({ name }) => name.includes('HTTP'))) {
    const bare = await open(place, compose())
    onTestFinished(() => bare.close())
    await expect(getTask(bare as Loose, 'any')).rejects.toMatchObject({ code: 'TASKS_MISSING' })
  }
})

test('`connect` follows tasks by itself, hands them out, or tells the server to make none', async () => {
  const form = () => accept({ name: 'Ann' })
  const opened = [{}, { tasks: { handle: true } }, { tasks: false as const }].map((options) =>
    connect(place.url, { answerers: { form }, jar: false, ...options }),
  )
  const [following, handing, without] = (await Promise.all(opened)) as [Client, Client, Client]
  onTestFinished(() => Promise.all([following, handing, without].map((client) => client.close())).then(() => undefined))
  const greet = { name: 'greet', arguments: {} }
  expect(await following.callTool(greet)).toMatchObject(text('Dear Ann'))
  const { taskId } = taskOf(await handing.callTool(greet))!
  expect(await watchTask(following, taskId)).toMatchObject(text('Dear Ann'))
  await expect(without.callTool(greet)).rejects.toMatchObject({ code: -32021 })
  expect(await without.callTool({ name: 'either', arguments: {} })).toMatchObject(text('either way'))
})
