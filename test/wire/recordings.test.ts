/** What an earlier version sealed and sent, read by this one: both run side by side during a rolling update. */
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { ServerOptions } from 'pannier/server'
import { memoryCarryStore } from 'pannier/state'
import { describe, expect, onTestFinished, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { call } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { type Entry, InstanceMessages } from './fixtures/instanceMessages.ts'
import { accept, ARGUMENTS, type RecordedSession, type Recording, recordedServer } from './fixtures/recordedServer.ts'

const files = globSync(`${import.meta.dirname}/recordings/*.json`)
const recordings = files.map((file): [version: string, recording: Recording] => [
  basename(file, '.json'),
  JSON.parse(readFileSync(file, 'utf8')) as Recording,
])
const RESULT = '4711: scarf, 3, red'
const ANSWERS = { size: accept({ size: 3 }), colour: accept({ colour: 'red' }) }

/** An instance of this version, at the time of the recording. Its step must not run: the recording has its result. */
async function start({ keys, clockMs }: Recording, options: Partial<ServerOptions> = {}): Promise<string> {
  const server = recordedServer({ keys, clock: () => clockMs + 1000, ...options }, () => {
    throw new Error('The step ran again.')
  })
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  return (await server.listen({ drainOnTerm: false })).url
}

/** Continues a session-era call from its first question to its result. */
async function finish(url: string, { id, lastEventId, question }: RecordedSession): Promise<unknown> {
  const session = new RawSession(url, id, {}, '2025-11-25')
  const { state } = question
  expect((await session.answer(question, ANSWERS.size, state === undefined ? {} : { state })).status).toBe(202)
  const stream = await session.listen(lastEventId)
  const second = await stream.next()
  expect(second.params?.['message']).toBe('Colour?')
  await session.answer(second, ANSWERS.colour, second.state === undefined ? {} : { state: second.state })
  return (await stream.next()).result
}

test('this version has a recording', () => {
  expect(recordings.map(([version]) => version)).toContain(manifest.version)
})

describe.each(recordings)('of version %s', (_, recording) => {
  const complete = { content: [{ type: 'text', text: RESULT }] }

  test('the states of rounds continue their call', async () => {
    const url = await start(recording)
    const [first, second] = recording.rounds
    const afterFirst = { requestState: first, inputResponses: { size: ANSWERS.size } }
    const afterSecond = { requestState: second, inputResponses: { colour: ANSWERS.colour } }
    const { result: asked } = (await call(url, 'order', ARGUMENTS, { params: afterFirst })).message
    expect(Object.keys(asked.inputRequests)).toEqual(['colour'])
    expect((await call(url, 'order', ARGUMENTS, { params: afterSecond })).message.result).toMatchObject(complete)
  })

  test('a ticket finds its journal in the store', async () => {
    const { clockMs, stored } = recording
    const store = memoryCarryStore({ clock: () => clockMs })
    for (const [row, token] of Object.entries(stored.rows)) await store.put(row, token, clockMs / 1000 + 3600)
    const url = await start(recording, { store, carry: 'store' })
    const params = { requestState: stored.state, inputResponses: { size: ANSWERS.size } }
    const { result } = (await call(url, 'order', ARGUMENTS, { params })).message
    expect(Object.keys(result.inputRequests)).toEqual(['colour'])
  })

  test('a session, its stream and the echoed state of its question continue their call', async () => {
    expect(await finish(await start(recording), recording.echoing)).toMatchObject(complete)
  })

  test('an instance that stops hands its waiting call off to one of this version', async () => {
    const { keys, clockMs, departed } = recording
    const url = await start(recording)
    const letters = new InstanceMessages(keys, clockMs + 1000)
    const here = await letters.at(url)
    const from: Entry = ['0earlier', null]
    const replies = new Map<unknown, unknown>()
    for (const message of departed.messages) replies.set(message['kind'], await letters.send(url, here, from, message))
    expect(Object.fromEntries(replies)).toMatchObject({
      hello: {},
      stopping: 202,
      'hand-off': { isTaken: true },
      events: 202,
      recent: { events: expect.any(Array) },
      bye: 202,
    })
    expect(await finish(url, departed)).toMatchObject(complete)
  })
})
