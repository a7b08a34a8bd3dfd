/** The program and tasks: followed with a status, left and taken up again. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { proves } from '../proves.ts'
import { connect, getTask, type TaskClient } from 'pannier/client'
import { z } from 'zod'
import { TaskCaller } from '../fixtures/modernClient.ts'
import { listening, taskServer } from '../tasks/fixtures/echoServer.ts'
import { commandOf, type RunningServer, startServer } from '../client/fixtures/servers/start.ts'
import { pannier, ProgramHost, type Ran, startPannier } from './fixtures/program.ts'
import { KEYS, openPty, type Pty } from './fixtures/pty.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-program-tasks-'))
const done = join(folder, 'done')
const env = { TASKS: join(folder, 'tasks.db'), DONE: done, XDG_DATA_HOME: folder }
let shop: RunningServer
let client: TaskClient & { close(): Promise<void> }

beforeAll(async () => {
  shop = await startServer('taskServer', env)
  client = await connect(shop.url, { jar: false })
})
afterAll(async () => {
  host.close()
  await client.close()
  shop.close()
  rmSync(folder, { recursive: true, force: true })
})

const host = new ProgramHost()
const run = (...args: readonly string[]): Promise<Ran> => host.run([...args, '--no-jar'], { env })
const on = (command: string, id: string, ...args: readonly string[]) => run('task', command, shop.url, id, ...args)

async function detached(tool: string): Promise<string> {
  const { status, stdout } = await run('call', shop.url, tool, '--detach')
  expect(status).toBe(0)
  return stdout.trim()
}

/** Waits until a task is as wanted. */
async function become(id: string, status: string): Promise<void> {
  await expect.poll(() => getTask(client, id)).toMatchObject({ status })
}

function atTerminal(...args: readonly string[]): Pty {
  const out = join(folder, `out-${Math.random()}`)
  const pty = openPty({ program: 'src/cli/main.ts', args: [...args, '--no-jar'], out, env })
  onTestFinished(() => pty.kill())
  return pty
}

describe('a call that becomes a task', () => {
  test('is followed to its result, and in a pipe each status has a line', async () => {
    const { status, stdout, stderr } = await run('call', shop.url, 'greet', '--yes')
    expect([status, stdout]).toEqual([0, 'Dear Bo\n'])
    const lines = stderr.trimEnd().split('\n')
    expect(lines[0]).toBe('Task: working')
    expect(lines).toContain('Task: waits for an answer')
  })

  test('ends with what its tool says, and with the code for that', async () => {
    const runs = [run('call', shop.url, 'fail'), run('call', shop.url, 'greet', '--decline')]
    expect(await Promise.all(runs)).toMatchObject([
      { status: 1, stdout: '' },
      { status: 5, stdout: '' },
    ])
  })

  test('is named where it cannot be followed to its end', async () => {
    const answers = join(folder, 'unfit.json')
    writeFileSync(answers, '{ "*": { "nonsense": 1 } }')
    const { status, stderr } = await run('call', shop.url, 'greet', '--answers', answers)
    expect([status, stderr]).toEqual([2, expect.stringMatching(/does not fit.*\n.*task watch TARGET greet_\S+\n$/)])
    const id = stderr.trimEnd().split(' ').at(-1) ?? ''
    expect(await getTask(client, id)).toMatchObject({ status: 'input_required' })
  })

  test('is one of a server that is started for it, too', async () => {
    const command = commandOf('taskServer')
    const { status, stdout } = await pannier(['call', 'greet', '--yes', '--no-jar', '--', ...command], { env })
    expect([status, stdout]).toEqual([0, 'Dear Bo\n'])
  })

  test('at a terminal has one status line that goes away, and Ctrl-C cancels the task', async () => {
    const pty = atTerminal('call', shop.url, 'dry')
    await pty.see('Task: working (1 of 4), still wet')
    pty.press(KEYS.ctrlC)
    expect(await pty.end()).toEqual({ exitCode: 130, stdout: '' })
    const cleared = `\r${String.fromCharCode(27)}[K`
    expect(pty.raw().split(cleared).at(-2)).toMatch(/still wet(\^C)?$/)
    expect(pty.raw().split(cleared).at(-1)).toBe('Cancelled.\r\n')
    expect(pty.shown()).not.toContain('still wet\r\n')
    await expect.poll(() => readFileSync(done, 'utf8')).toBe('cancelled\n')
  })

  test('asks at a terminal', async () => {
    const pty = atTerminal('call', shop.url, 'greet')
    await pty.see('For whom?')
    await pty.see('How do you answer?')
    pty.press(KEYS.enter)
    await pty.see('name')
    pty.press(KEYS.ctrlU, 'Kim', KEYS.enter)
    await pty.see('Send')
    pty.press(KEYS.enter)
    expect(await pty.end()).toEqual({ exitCode: 0, stdout: 'Dear Kim\n' })
  })

  proves('MRTR-31', 'that asks can be put to sleep, and goes on with its answer in another process', async () => {
    const [file, answers] = [join(folder, 'saved.json'), join(folder, 'answers.json')]
    writeFileSync(answers, '{ "whom": { "name": "Kim" } }')
    const inProcess = (...args: readonly string[]): Promise<Ran> => pannier([...args, '--no-jar'], { env })
    expect(await inProcess('call', shop.url, 'greet', '--suspend', file)).toMatchObject({ status: 6, stdout: '' })
    expect(await inProcess('resume', file, '--answers', answers)).toMatchObject({ status: 0, stdout: 'Dear Kim\n' })
  })
})

describe('a task that is left', () => {
  test('is known by its id: looked at, answered, followed', async () => {
    const { stdout, stderr } = await run('call', shop.url, 'greet', '--detach', '--output', 'json')
    const { task } = JSON.parse(stdout)
    expect(task).toMatchObject({ taskId: expect.any(String), status: 'working' })
    expect(stderr).toContain('pannier task watch TARGET ID')
    await become(task.taskId, 'input_required')
    const seen = await on('get', task.taskId)
    expect(seen).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /^Task: waits for an answer\n(.*\n)? {2}whom: For whom\?\n {4}name\??: string.*\n$/,
      ),
    })
    expect(await on('answer', task.taskId, '--answer', 'name=Zoe')).toMatchObject({ status: 0, stdout: '' })
    expect(await on('watch', task.taskId)).toMatchObject({ status: 0, stdout: 'Dear Zoe\n' })
    const after = [on('get', task.taskId), on('answer', task.taskId, '--answer', 'name=Zoe')]
    expect(await Promise.all(after)).toMatchObject([
      { status: 0, stdout: 'Dear Zoe\n', stderr: expect.stringContaining('Task: done') },
      { status: 2, stderr: expect.stringContaining('asks nothing now') },
    ])
  })

  test('and asks several things takes answers one by one, each typed by its form', async () => {
    const id = await detached('paint')
    await become(id, 'input_required')
    const paint = await on('answer', id, '--answer', 'paint.colour=blue', '--answer', 'paint.coats=2')
    expect(paint).toMatchObject({ status: 0, stderr: 'Answered; still open: whom.\n' })
    expect(Object.keys((await getTask(client, id)).inputRequests ?? {})).toEqual(['whom'])
    expect(await on('answer', id, '--json', '{ "whom": { "name": "Kim" } }')).toMatchObject({ status: 0 })
    expect(await on('watch', id)).toMatchObject({ status: 0, stdout: '2 coats of blue for Kim\n' })
  })

  test('is watched where nobody can be asked until it asks, and stays', async () => {
    const id = await detached('greet')
    await become(id, 'input_required')
    const { status, stderr } = await on('watch', id)
    expect([status, stderr]).toEqual([2, expect.stringContaining('It asks something. Run this in a terminal')])
    expect(await getTask(client, id)).toMatchObject({ status: 'input_required' })
  })

  test('is not told no by --yes where a form has no defaults', async () => {
    const id = await detached('paint')
    await become(id, 'input_required')
    expect(await on('answer', id, '--answer', 'whom.name=Kim', '--yes')).toMatchObject({
      status: 0,
      stderr: 'Answered; still open: paint.\n',
    })
    expect(await on('answer', id, '--yes')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--yes cannot answer paint'),
    })
    expect(await getTask(client, id)).toMatchObject({ status: 'input_required' })
  })

  test('takes no answer that does not fit its form, or whose question is not clear', async () => {
    const id = await detached('paint')
    await become(id, 'input_required')
    const wrong = [on('answer', id, '--answer', 'paint.coats=many'), on('answer', id, '--answer', 'coats=2')]
    expect(await Promise.all(wrong)).toMatchObject([
      { status: 2, stderr: expect.stringContaining('the form wants number here') },
      { status: 2, stderr: expect.stringContaining('QUESTION.FIELD=VALUE') },
    ])
    expect(await getTask(client, id)).toMatchObject({ status: 'input_required' })
  })

  test('is answered at a terminal, and followed there by another', async () => {
    const id = await detached('greet')
    await become(id, 'input_required')
    const pty = atTerminal('task', 'answer', shop.url, id)
    await pty.see('For whom?')
    await pty.see('How do you answer?')
    pty.press(KEYS.enter)
    await pty.see('name')
    pty.press(KEYS.ctrlU, 'Kim', KEYS.enter)
    await pty.see('Send')
    pty.press(KEYS.enter)
    expect(await pty.end()).toEqual({ exitCode: 0, stdout: '' })
    expect(await on('watch', id, '--output', 'json')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Dear Kim'),
    })
  })

  test('goes on when nobody watches any more, and ends when it is cancelled', async () => {
    const id = await detached('dry')
    const { child, ended } = startPannier(['task', 'watch', shop.url, id, '--no-jar'], { env })
    child.stderr?.once('data', () => void child.kill('SIGINT'))
    expect(await ended).toMatchObject({ status: 130, stderr: expect.stringContaining('the task continues') })
    expect(await getTask(client, id)).toMatchObject({ status: 'working' })
    expect(await on('cancel', id)).toMatchObject({ status: 0 })
    await become(id, 'cancelled')
    expect(await on('watch', id)).toMatchObject({ status: 4, stderr: expect.stringContaining('cancelled') })
  })

  test('says whom it waits for where that is somebody else', async () => {
    const server = taskServer({ principal: () => ({ id: 'ann' }) })
    const approve = { message: 'Pay it?', schema: z.object({ approve: z.boolean() }), by: 'role:manager' }
    server.tool('refund', { description: 'Asks a manager.', task: 'required' }, async (_, ctx) => {
      return `approved: ${(await ctx.ask('approve', approve)).approve}`
    })
    const ann = new TaskCaller(await listening(server))
    const id = await ann.create('refund')
    await ann.until(id, 'input_required')
    const runs = [run('task', 'get', ann.url, id), run('task', 'answer', ann.url, id, '--answer', 'approve=true')]
    expect(await Promise.all(runs)).toMatchObject([
      { status: 0, stdout: expect.stringContaining('Task: waits for role:manager\n') },
      { status: 2, stderr: expect.stringContaining('asks you nothing. The server says: "It waits for role:manager."') },
    ])
  })

  test('that is none, and a call that becomes none, are told', async () => {
    const runs = [on('get', 'nonsense'), run('task', 'get', shop.url), run('call', shop.url, 'plain', '--detach')]
    expect(await Promise.all(runs)).toMatchObject([
      { status: 4, stdout: '' },
      { status: 2, stderr: expect.stringContaining('ID is missing') },
      { status: 0, stdout: 'at once\n' },
    ])
  })
})
