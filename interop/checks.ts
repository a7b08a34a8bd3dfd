/** What is tried with each client. A check ends when the thing was seen to work, and throws what was seen instead. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Answers, Connection } from './driver.ts'
import { eventsIn, type ServerSaw } from './server/events.ts'

/** In the order of the table. */
export const WHATS = ['connect', 'list', 'call', 'elicit', 'sample', 'progress', 'cancel', 'tasks'] as const

export type What = (typeof WHATS)[number]

export const ANSWERS: Answers = {
  elicit: () => ({ action: 'accept', content: { colour: 'blue' } }),
  sample: () => ({
    role: 'assistant',
    content: { type: 'text', text: 'in short' },
    model: 'test-model',
    stopReason: 'endTurn',
  }),
}

// Generous, because others may keep the machine busy.
const BEGIN_MS = 20_000
const CANCEL_MS = 5_000
const POLL_MS = 20

/** The server's side of a check: the events since it began. */
class ServerView {
  readonly #file: string
  readonly #seen: number

  constructor(file: string) {
    this.#file = file
    this.#seen = eventsIn(file).length
  }

  events(): readonly ServerSaw[] {
    return eventsIn(this.#file).slice(this.#seen)
  }

  async sees(kind: ServerSaw['kind'], limitMs: number): Promise<boolean> {
    const deadline = performance.now() + limitMs
    while (!this.events().some((event) => event.kind === kind)) {
      if (performance.now() > deadline) return false
      await pause(POLL_MS)
    }
    return true
  }
}

type Check = (connection: Connection, server: ServerView) => Promise<void>

const CHECKS: Readonly<Record<Exclude<What, 'connect'>, Check>> = {
  list: async (connection) => {
    const names = await connection.list()
    if (!names.includes('echo') || !names.includes('bake'))
      throw new Error(`It lists ${names.join(', ') || 'nothing'}.`)
  },
  call: async (connection) => expectText(await connection.call('echo', { text: 'hello' }, {}), 'hello'),
  elicit: async (connection) => expectText(await connection.call('paint', {}, {}), 'painted blue'),
  sample: async (connection) => expectText(await connection.call('sum_up', {}, {}), 'the model wrote: in short'),
  progress: checkProgress,
  cancel: checkCancel,
  tasks: async (connection, server) => {
    const text = connection.callAsTask ? await connection.callAsTask('bake') : await connection.call('bake', {}, {})
    expectText(text, 'baked')
    if (!server.events().some((event) => event.kind === 'call' && event.asTask)) throw new Error('It ran as no task.')
  },
}

export function runCheck(what: Exclude<What, 'connect'>, connection: Connection, eventsFile: string): Promise<void> {
  return CHECKS[what](connection, new ServerView(eventsFile))
}

async function checkProgress(connection: Connection, server: ServerView): Promise<void> {
  const heard: number[] = []
  const onProgress = (progress: number): void => void heard.push(progress)
  expectText(await connection.call('count', {}, { onProgress }), 'counted')
  if (heard.join() === '1,2,3') return
  const isWanted = server.events().some((event) => event.kind === 'call' && event.wantsProgress)
  throw new Error(`The request had ${isWanted ? 'a' : 'no'} progressToken, and ${heard.join() || 'no progress'} came.`)
}

async function checkCancel(connection: Connection, server: ServerView): Promise<void> {
  const abort = new AbortController()
  const call = connection.call('wait', {}, { signal: abort.signal }).then(
    (text) => `The call ended with "${text}".`,
    (error: unknown) => `The call failed: ${String(error)}`,
  )
  const began = await Promise.race([server.sees('waiting', BEGIN_MS), call])
  if (began !== true) throw new Error(began === false ? 'The call did not begin.' : began)
  abort.abort()
  if (!(await server.sees('cancelled', CANCEL_MS))) throw new Error('The server was not told.')
  const timeout = pause(CANCEL_MS, 'late', { ref: false })
  if ((await Promise.race([call, timeout])) === 'late')
    throw new Error('The server was told, but the call does not end.')
}

function expectText(text: string, expected: string): void {
  if (text !== expected) throw new Error(`The result is "${text}", not "${expected}".`)
}
