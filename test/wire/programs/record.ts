/**
 * Writes the tokens and messages of this version to `test/wire/recordings/VERSION.json`, which every later version must
 * read: `node --conditions=pannier-source test/wire/programs/record.ts`, once for each release.
 */
import { writeFileSync } from 'node:fs'
import { memoryCarryStore, newKey } from 'pannier/state'
import manifest from '../../../package.json' with { type: 'json' }
import { call } from '../../fixtures/modernClient.ts'
import { RawSession } from '../../interop/fixtures/rawSession.ts'
import { InstanceMessages, type Message, MESSAGE_TYPE } from '../fixtures/instanceMessages.ts'
import { accept, ARGUMENTS, type RecordedSession, type Recording, recordedServer } from '../fixtures/recordedServer.ts'

const keys = newKey()
const clockMs = Date.UTC(2026, 10, 18)
const clock = (): number => clockMs
const reserve = (): number => 4711
const ECHOES = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }

async function recordRounds(): Promise<string[]> {
  const server = recordedServer({ keys, clock }, reserve)
  const { url } = await server.listen({ drainOnTerm: false })
  const first = (await call(url, 'order', ARGUMENTS)).message.result.requestState
  const params = { requestState: first, inputResponses: { size: accept({ size: 3 }) } }
  const second = (await call(url, 'order', ARGUMENTS, { params })).message.result.requestState
  await server.drain({ deadlineMs: 0 })
  return [first, second]
}

async function recordStored(): Promise<Recording['stored']> {
  const rows: Record<string, string> = {}
  const store = memoryCarryStore({ clock })
  const noting = { ...store, put: (id: string, token: string, at: number) => store.put(id, (rows[id] = token), at) }
  const server = recordedServer({ keys, clock, store: noting, carry: 'store' }, reserve)
  const { url } = await server.listen({ drainOnTerm: false })
  const { message } = await call(url, 'order', ARGUMENTS)
  await server.drain({ deadlineMs: 0 })
  return { state: message.result.requestState, rows }
}

async function recordSession(url: string, capabilities: object): Promise<RecordedSession> {
  const session = await RawSession.begin(url, { capabilities })
  const stream = await session.call('order', ARGUMENTS)
  const question = await stream.next()
  stream.close()
  return { id: session.id, lastEventId: stream.lastEventId ?? '', question }
}

async function recordEchoing(): Promise<RecordedSession> {
  const server = recordedServer({ keys, clock }, reserve)
  const { url } = await server.listen({ drainOnTerm: false })
  const session = await recordSession(url, ECHOES)
  await server.drain({ deadlineMs: 0 })
  return session
}

/** Two instances, of which the first stops while its client is asked. */
async function recordDeparted(): Promise<Recording['departed']> {
  const letters = new InstanceMessages(keys, clockMs)
  const messages = new Map<unknown, Message>()
  const send = globalThis.fetch
  globalThis.fetch = async (input, init) => {
    const headers = new Headers(init?.headers)
    const isMessage = headers.get('content-type') === MESSAGE_TYPE
    const message = isMessage && typeof init?.body === 'string' ? letters.read(headers, init.body) : {}
    // An instance finds out who is at an address by a message without a kind.
    if (message['kind'] !== undefined) messages.set(message['kind'], message)
    return send(input, init)
  }
  const staying = recordedServer({ keys, clock }, reserve)
  const { url } = await staying.listen({ drainOnTerm: false })
  const leaving = recordedServer({ keys, clock, peers: [url] }, reserve)
  const session = await recordSession((await leaving.listen({ drainOnTerm: false })).url, { elicitation: {} })
  await leaving.drain()
  await staying.drain({ deadlineMs: 0 })
  globalThis.fetch = send
  return { ...session, messages: [...messages.values()] }
}

const recording: Recording = {
  keys,
  clockMs,
  rounds: await recordRounds(),
  stored: await recordStored(),
  echoing: await recordEchoing(),
  departed: await recordDeparted(),
}
const file = new URL(`../recordings/${manifest.version}.json`, import.meta.url)
writeFileSync(file, `${JSON.stringify(recording, undefined, 2)}\n`)
