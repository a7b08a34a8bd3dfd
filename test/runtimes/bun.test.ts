/** `server.listen` and `server.fetch` in Bun, and examples/mount/bun.ts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { newKey } from 'pannier/state'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../../scripts/repository.ts'
import { accept, Caller } from '../docs/fixtures/caller.ts'
import { Session } from '../docs/fixtures/sessionClient.ts'

/** Longer than `Bun.serve` allows a connection to be silent by default. */
const SILENT_MS = 13_000

interface Program {
  readonly child: ChildProcess
  readonly url: string
}

const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** Starts a program in Bun, and waits for the address that it prints. */
async function start(file: string, ...args: readonly string[]): Promise<Program> {
  const { NODE_OPTIONS: _, ...environment } = process.env
  const child = spawn(join(root, 'node_modules/.bin/bun'), ['--conditions=pannier-source', file, ...args], {
    cwd: root,
    env: { ...environment, PANNIER_KEYS: newKey(), PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  for await (const chunk of child.stdout) {
    const url = /http:\S+/.exec(String(chunk))?.[0]
    if (url !== undefined) return { child, url }
  }
  throw new Error(`${file} ended before it printed its address.`)
}

/** A call that has begun, as its first notification shows; `rest` is the remaining text of its stream. */
async function simmer(url: string, ms: number): Promise<{ rest: Promise<string> }> {
  const { promise: begun, resolve: begin } = Promise.withResolvers<Response>()
  const door = async (request: Request): Promise<Response> => {
    const response = await fetch(request)
    begin(response.clone())
    return response
  }
  const call = new Caller(door, { url, meta: { progressToken: 'p' } }).round('simmer', { ms })
  const reader = (await begun).body?.getReader()
  await reader?.read()
  return { rest: call.then(({ result }) => result.content?.[0]?.text ?? '') }
}

describe.each(['listen', 'serve'])('a server in Bun, by %s', (way) => {
  let program: Program
  beforeAll(async () => {
    program = await start('test/runtimes/bunServer.ts', way)
  })

  test('a tool asks twice, each time in a round of its own', async () => {
    const answers = { people: accept({ people: 4 }), sure: accept({ sure: true }) }
    const { text, asked } = await new Caller(fetch, { url: program.url }).call('book_table', { day: 'Friday' }, answers)
    expect(asked).toEqual([['people'], ['sure']])
    expect(text).toBe('Booked for 4 on Friday.')
  })

  test('a session-era client is asked twice on the stream of its call', async () => {
    const session = await Session.begin(program.url, { elicitation: {} })
    const events = await session.stream('tools/call', { name: 'book_table', arguments: { day: 'Friday' } })
    await session.answer((await events.next()).message, accept({ people: 4 }))
    await session.answer((await events.next()).message, accept({ sure: true }))
    const { result } = (await events.next()).message
    expect(result).toMatchObject({ content: [{ text: 'Booked for 4 on Friday.' }] })
  })

  test('a stream stays open while its call is silent, in both eras', async () => {
    const session = await Session.begin(program.url, {})
    const params = { name: 'simmer', arguments: { ms: SILENT_MS }, _meta: { progressToken: 'p' } }
    const [{ rest }, events] = await Promise.all([simmer(program.url, SILENT_MS), session.stream('tools/call', params)])
    expect((await events.next()).message).toMatchObject({ method: 'notifications/progress' })
    expect(await rest).toBe('Done.')
    expect((await events.next()).message.result).toMatchObject({ content: [{ text: 'Done.' }] })
  })

  test('calls in flight at SIGTERM are answered, and the process exits with 0', async () => {
    const { rest } = await simmer(program.url, 1000)
    const silent = new Caller(fetch, { url: program.url }).round('cook', { minutes: 1, msPerMinute: 1000 })
    const menu = await new Caller(fetch, { url: program.url }).round('menu') // sent after the other, so that it is in flight
    expect(menu.status).toBe(200)
    const exit = once(program.child, 'exit')
    program.child.kill('SIGTERM')
    expect(await rest).toBe('Done.')
    expect((await silent).result.content?.[0]?.text).toBe('Done.')
    expect(await exit).toEqual([0, null])
  })
})

test('examples/mount/bun.ts serves, and ends on SIGTERM', async () => {
  const { child, url } = await start('examples/mount/bun.ts')
  const caller = new Caller(fetch, { url: new URL('/mcp', url).href })
  expect((await caller.call('menu', {}, {})).text).toContain('dumplings')
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
})
