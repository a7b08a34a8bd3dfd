/**
 * Clients with `echoFetch`, and instances that are killed after they took an answer and before they did anything with it.
 * Nobody but the client knows that answer then. Real processes, real clients, SIGKILL.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { echoFetch } from 'pannier/client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { amount } from '../amount.ts'
import { proves } from '../proves.ts'
import { type Balancer, startBalancer } from '../survival/balancer.ts'
import { type Caller, kinds } from '../survival/clients.ts'
import { type Gate, startGate } from './fixtures/gate.ts'
import { type Program, startProgram } from './fixtures/instances.ts'
import type { Incoming, MessageStream } from './fixtures/messageStream.ts'
import { RawSession } from './fixtures/rawSession.ts'

const ECHOING = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }
const ANN = { action: 'accept', content: { name: 'Ann' } }
const KILLS = amount(2, 40)
/** The instance died with the request itself, within the effect, or after it. */
const TOLD = /Error POSTing|may or may not have taken effect|The instance that ran this call is gone/
const CALLS_EACH = amount(3, 30)

let balancer: Balancer
let gate: Gate
let folder: string
let programs: Program[] = []
const clients: Caller[] = []
/** Called with each answer that a process has. */
let onAnswered: (pid: number) => Promise<void>

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pannier-gate-'))
  gate = await startGate((_, pid) => onAnswered(pid))
  balancer = await startBalancer()
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
  await Promise.all(programs.splice(0).map((program) => program.kill()))
  gate.close()
  balancer.close()
  rmSync(folder, { recursive: true })
})

async function startInstance(): Promise<void> {
  programs.push(await startProgram('gated', { GATE: gate.url, LEDGER: join(folder, 'ledger') }))
  balancer.targets = programs.map(({ url }) => url)
}

async function kill(pid: number): Promise<void> {
  const victim = programs.find(({ child }) => child.pid === pid)
  programs = programs.filter((program) => program !== victim)
  await victim?.kill()
  balancer.targets = programs.map(({ url }) => url)
}

/** How a call ended for its client. */
interface End {
  readonly call: string
  readonly end: string
  /** Whether its stream was cut before the first event: no client can come back to it, and each waits in vain. */
  readonly isCutEarly: boolean
}

/** Calls one after the other. */
async function callAll(kind: 'v1' | 'v2', count: number): Promise<End[]> {
  let isCutEarly = false
  const watched = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init)
    const isCall = typeof init?.body === 'string' && init.body.includes('"tools/call"')
    return isCall ? watchedResponse(response, () => (isCutEarly = true)) : response
  }
  const client = await kinds[kind](balancer.url, echoFetch(watched))
  clients.push(client)
  const ends: End[] = []
  for (let index = 0; index < count; index++) {
    isCutEarly = false
    const call = `${kind}-${clients.indexOf(client)}-${index}`
    const end = await client.call('order', { call }, { timeout: 60_000 }).then(JSON.stringify, String)
    ends.push({ call, end, isCutEarly })
  }
  return ends
}

/** `onCutEarly` is called when its body ends before there was anything in it. */
function watchedResponse(response: Response, onCutEarly: () => void): Response {
  const reader = response.body?.getReader()
  let isEmpty = true
  const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
    const { value, done } = await reader!.read().catch((error: unknown) => {
      if (isEmpty) onCutEarly()
      throw error
    })
    if (done) return controller.close()
    isEmpty = false
    controller.enqueue(value)
  }
  return reader ? new Response(new ReadableStream({ pull, cancel: (why) => reader.cancel(why) }), response) : response
}

proves(
  'ST-3',
  'an answer that died with the instance that took it is posted again, and its call completes',
  async () => {
    await Promise.all([startInstance(), startInstance()])
    let left = KILLS
    onAnswered = async (pid) => {
      const isAlive = programs.some(({ child }) => child.pid === pid)
      // Only as many as there are replacements for: one is always there.
      if (left === 0 || !isAlive || programs.length < 2) return
      left--
      await kill(pid)
      await startInstance()
    }
    const ended = await Promise.all(
      (['v1', 'v2'] as const).flatMap((kind) => [callAll(kind, CALLS_EACH), callAll(kind, CALLS_EACH)]),
    )
    expect(left).toBe(0)
    expect(ended.flat().filter((end) => !isSound(end))).toEqual([])
  },
  300_000,
)

proves(
  'ST-11',
  'a call that ended at an instance which died is not begun again; its client is told at once',
  async () => {
    await Promise.all([startInstance(), startInstance()])
    const [one, two] = programs as [Program, Program]
    onAnswered = () => Promise.resolve()
    const capabilities = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }
    const session = await RawSession.begin(one.url, { capabilities })
    const call = await session.call('order', { call: 'ended' })
    const answer = (question: Incoming) => session.answer(question, ANN, { state: question.state })
    await answer(await call.next())
    const second = await call.next()
    call.close()
    await answer(second)
    await expect.poll(() => gate.effects.get('ended')).toBe(1)
    for (let turn = 0; turn < 3; turn++) await session.request('tools/list') // its end is written down by then
    await one.kill()

    session.url = two.url
    const resumed = await session.listen(call.lastEventId)
    expect((await answer(second)).status).toBe(202)
    expect(await resumed.rest()).toMatchObject([{ error: { message: expect.stringContaining('is gone') } }])
    expect(gate.effects.get('ended')).toBe(1)
  },
)

test.each(['before', 'after'] as const)(
  'instances that never met find each other by their ledger: a client at one, which came %s its answer to the other',
  async (when) => {
    await Promise.all([startInstance(), startInstance(), startInstance()])
    const [one, two, three] = programs as [Program, Program, Program]
    onAnswered = () => Promise.resolve()
    const session = await RawSession.begin(one.url, { capabilities: ECHOING })
    const call = await session.call('order', { call: 'strangers' })
    const first = await call.next()
    await one.kill()

    const listen = (): Promise<MessageStream> => {
      session.url = two.url
      return session.listen(call.lastEventId)
    }
    const early = when === 'before' ? await listen() : undefined
    session.url = three.url
    await session.answer(first, ANN, { state: first.state })
    const resumed = early ?? (await listen())
    const second = await resumed.next()
    await session.answer(second, ANN, { state: second.state })
    expect(await resumed.next()).toMatchObject({ result: { content: [{ text: 'Ann Ann' }] } })
  },
)

/** A call completes, once; or its client is told. That its client waited in vain is no end where it could come back. */
function isSound({ call, end, isCutEarly }: End): boolean {
  const effects = gate.effects.get(call) ?? 0
  if (end.includes('Ann Ann')) return effects === 1
  return effects <= 1 && (isCutEarly || TOLD.test(end))
}
