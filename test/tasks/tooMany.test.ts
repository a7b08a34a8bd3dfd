/** How many unfinished tasks one caller may have, as clients of both eras learn it. */
import { expect, test } from 'vitest'
import { newKey } from 'pannier/state'
import { TaskCaller } from '../fixtures/modernClient.ts'
import type { Incoming } from '../interop/fixtures/messageStream.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { listening, offerEcho, taskServer } from './fixtures/echoServer.ts'
import { ENGINES, instancesOver } from './fixtures/engines.ts'

const refusal = { code: -32602, message: expect.stringContaining('2 unfinished tasks') }

test('a known caller is refused a task too many, and another caller is not', async () => {
  const principal = ({ header }: { header(name: string): string | undefined }) => ({ id: header('who') ?? 'nobody' })
  const url = await listening(offerEcho(taskServer({ tasksIn: { maxTasksPerCaller: 2 }, principal })))
  const [ann, bob] = ['ann', 'bob'].map((who) => new TaskCaller(url, { headers: { who } }))
  const first = await ann?.create('echo')
  await ann?.create('echo')
  expect(await ann?.call('echo')).toMatchObject(refusal)
  await bob?.create('echo')
  await ann?.cancel(first ?? '')
  await ann?.create('echo')
})

test('callers whom nobody knows, and who have no session, are counted by the address they come from', async () => {
  const clientAddress = ({ header }: { header(name: string): string | undefined }) => header('from')
  const limits = { requestsPerMinute: 1000, clientAddress }
  const url = await listening(offerEcho(taskServer({ tasksIn: { maxTasksPerCaller: 2 }, limits })))
  const [here, there] = ['192.0.2.1', '192.0.2.2'].map((from) => new TaskCaller(url, { headers: { from } }))
  await here?.create('echo')
  await here?.create('echo')
  expect(await here?.call('echo')).toMatchObject(refusal)
  await there?.create('echo')
})

test('callers whom nobody knows are counted by their sessions', async () => {
  const url = await listening(offerEcho(taskServer({ tasksIn: { maxTasksPerCaller: 2 } })))
  const [one, other] = await Promise.all([RawSession.begin(url), RawSession.begin(url)])
  const call = (session: RawSession) => session.request('tools/call', { name: 'echo', task: {} })
  expect([await call(one), await call(one)]).toMatchObject([{ result: { task: {} } }, { result: { task: {} } }])
  expect(await call(one)).toMatchObject({ error: refusal })
  expect(await call(other)).toMatchObject({ result: { task: {} } })
})

test.each(ENGINES)(
  'sessions that one address begins at two instances have ten times as many together (%s)',
  async (engine) => {
    const clientAddress = ({ header }: { header(name: string): string | undefined }) => header('from')
    const options = { keys: newKey(), limits: { clientAddress } }
    const servers = await instancesOver(engine, 2, { maxTasksPerCaller: 1 }, options)
    const urls = await Promise.all(servers.map((server) => listening(offerEcho(server))))
    let begun = 0
    const callIn = async (from: string): Promise<Incoming> => {
      const session = await RawSession.begin(urls[begun++ % 2] ?? '', { headers: { from } })
      return session.request('tools/call', { name: 'echo', task: {} })
    }
    for (let at = 0; at < 10; at++) expect(await callIn('192.0.2.1')).toMatchObject({ result: { task: {} } })
    const error = { code: -32602, message: expect.stringContaining('10 unfinished tasks') }
    expect([await callIn('192.0.2.1'), await callIn('192.0.2.1')]).toMatchObject([{ error }, { error }])
    expect(await callIn('192.0.2.2')).toMatchObject({ result: { task: {} } })
  },
)
