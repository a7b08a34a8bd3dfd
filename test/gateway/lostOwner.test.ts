/** A call of a session-era server waits in a gateway that ends, or its server ends: what its client hears then. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test, vi } from 'vitest'
import { call, post, type Wire } from '../fixtures/modernClient.ts'
import { commandOf } from '../interop/fixtures/instances.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { sessionServer, startGateway } from './fixtures/gateways.ts'
import { answered, textOf } from './fixtures/parkedRounds.ts'

const PROGRAM = fileURLToPath(new URL('programs/effectTools.ts', import.meta.url))
const PATIENCE = { timeout: 30_000 }
const effects: string[] = []
const folder = mkdtempSync(join(tmpdir(), 'pannier-effects-'))
const written = join(folder, 'effects')
let servers: object = {}
let other = ''

beforeAll(async () => {
  const ends: (() => unknown)[] = []
  const until = (end: () => unknown): void => void ends.unshift(end)
  const { url } = await sessionServer(until, () => effectTools(effects))
  writeFileSync(written, '')
  const { env, ...command } = commandOf(PROGRAM)
  ends.push(() => rmSync(folder, { recursive: true }))
  servers = {
    child: { ...command, env: { ...env, EFFECTS: written }, pannier: { state: 'stateful' } },
    desk: { url, pannier: { state: 'stateful' } },
    free: { url, pannier: { state: 'stateful', replay: true } },
    hasty: { url, pannier: { state: 'stateful', parkSeconds: 0.2 } },
  }
  other = (await startGateway(servers, {}, {}, until)).url
  return async () => {
    for (const end of ends) await end()
  }
})

async function at(url: string, tool: string, key: string, brought: Wire = {}): Promise<Wire> {
  const params = { requestState: brought.requestState, inputResponses: brought.inputResponses }
  const { message } = await call(url, tool, { key }, { params })
  return message.result ?? message.error
}

const questionsIn = (asked: Wire): string[] =>
  Object.values(asked.inputRequests as Record<string, Wire>).map(({ params }) => params.message)
const effectsOf = (key: string): string[] => effects.filter((effect) => effect.endsWith(` ${key}`))

test('a gateway that is killed: what may be repeated goes on elsewhere with its answers, the rest ends with a word', async () => {
  const owner = await startGatewayProcess(servers)
  const tools = ['desk_look', 'desk_set', 'free_book', 'desk_book']
  const seconds = await Promise.all(
    tools.map(async (tool) => at(owner.url, tool, tool, answered(await at(owner.url, tool, tool), 'Ann'))),
  )
  const others = [
    ['prompts/get', { name: 'plan', arguments: { key: 'planned' } }],
    ['resources/read', { uri: 'item://listed' }],
  ] as const
  const round = async (url: string, [method, params]: (typeof others)[number], brought: Wire = {}): Promise<Wire> => {
    const { requestState, inputResponses } = brought
    return (await post(`${url}/desk`, { method, params: { ...params, requestState, inputResponses } })).message.result
  }
  const later = await Promise.all(
    others.map(async (each) => round(owner.url, each, answered(await round(owner.url, each), 'Ann'))),
  )
  const long = answered(await at(owner.url, 'desk_look', 'long'), 'A'.repeat(16_000))
  const asked = await at(owner.url, 'desk_look', 'long', long)
  await owner.end('SIGKILL')
  // Its ticket has no room for the first answer.
  expect((await at(other, 'desk_look', 'long', answered(asked, 'Lee'))).data).toMatchObject({ code: 'CALL_LOST' })
  for (const [turn, each] of others.entries())
    expect(JSON.stringify(await round(other, each, answered(later[turn], 'Lee')))).toContain('"Ann Lee"')
  for (const key of ['planned', 'listed'])
    expect(effectsOf(key)).toEqual([`began ${key}`, `began ${key}`, `done ${key}`])
  for (const [turn, tool] of tools.slice(0, 3).entries()) {
    const answer = answered(seconds[turn], 'Lee')
    const atOnce = await Promise.all([1, 2, 3].map(() => at(other, tool, tool, answer)))
    expect(atOnce.map(textOf)).toEqual(['Ann Lee', 'Ann Lee', 'Ann Lee'])
    expect(textOf(await at(other, tool, tool, answer))).toBe('Ann Lee')
    expect(effectsOf(tool)).toEqual([`began ${tool}`, `began ${tool}`, `done ${tool}`])
  }
  const { message, data } = await at(other, 'desk_book', 'desk_book', answered(seconds[3], 'Lee'))
  expect(data).toEqual({ code: 'CALL_LOST', server: 'desk' })
  expect(message).toMatch(/"desk" was in the middle of "book" when .*may have happened, and nothing was repeated/)
  expect(effectsOf('desk_book')).toEqual(['began desk_book'])
})

test('a gateway that is killed while it works on an answer', async () => {
  const owner = await startGatewayProcess(servers)
  const first = await at(owner.url, 'desk_wait', 'killed')
  const waiting = at(other, 'desk_wait', 'killed', answered(first, 'Ann'))
  await vi.waitFor(() => expect(effects).toContain('waits killed'), PATIENCE)
  await owner.end('SIGKILL')
  expect((await waiting).data).toEqual({ code: 'CALL_LOST', server: 'desk' })
})

async function frozenOwner(): Promise<void> {
  const owner = await startGatewayProcess(servers)
  const second = await at(owner.url, 'desk_look', 'frozen', answered(await at(owner.url, 'desk_look', 'frozen'), 'Ann'))
  process.kill(owner.pid, 'SIGSTOP')
  expect(textOf(await at(other, 'desk_look', 'frozen', answered(second, 'Lee')))).toBe('Ann Lee')
}

async function stoppedOwner(): Promise<void> {
  const owner = await startGatewayProcess(servers, { settings: { admin: { port: 0 } } })
  const first = await at(owner.url, 'desk_book', 'stopped')
  const ended = owner.end('SIGTERM')
  await vi.waitFor(async () => expect((await fetch(`${owner.admin}health`)).status).toBe(503), PATIENCE)
  const second = await at(other, 'desk_book', 'stopped', answered(first, 'Ann'))
  expect(questionsIn(second)).toEqual(['Second?'])
  expect(textOf(await at(other, 'desk_book', 'stopped', answered(second, 'Lee')))).toBe('Ann Lee')
  await ended
  expect(effectsOf('stopped')).toEqual(['began stopped', 'done stopped'])
}

// Both mostly wait, so they do it together.
test('a gateway that is frozen counts as gone, and one that is stopped lets calls that wait be answered', async () => {
  await Promise.all([frozenOwner(), stoppedOwner()])
})

test('a call that nobody answers in time is cancelled at its server, and a late answer hears so', async () => {
  const first = await at(other, 'hasty_book', 'late')
  await vi.waitFor(async () => {
    const { data } = await at(other, 'hasty_book', 'late', { requestState: first.requestState, inputResponses: {} })
    expect(data).toEqual({ code: 'CALL_EXPIRED', server: 'hasty' })
  }, PATIENCE)
})

/** What processes of the server have written of a call, with their ids. */
const writtenOf = (key: string): [pid: number, effect: string][] =>
  readFileSync(written, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith(` ${key}`))
    .map((line) => [Number.parseInt(line, 10), line.split(' ')[1] ?? ''])

test('a server that is killed while a call waits: what may be repeated goes on, the rest ends with a word', async () => {
  const tools = ['child_look', 'child_book']
  const seconds = await Promise.all(
    tools.map(async (tool) => at(other, tool, tool, answered(await at(other, tool, tool), 'Ann'))),
  )
  for (const tool of tools) process.kill(writtenOf(tool)[0]?.[0] ?? 0, 'SIGKILL')
  const [look, book] = await Promise.all(
    tools.map((tool, turn) => at(other, tool, tool, answered(seconds[turn], 'Lee'))),
  )
  expect(textOf(look)).toBe('Ann Lee')
  expect(writtenOf('child_look').map(([, effect]) => effect)).toEqual(['began', 'began', 'done'])
  expect(book.data).toEqual({ code: 'CALL_LOST', server: 'child' })
  expect(writtenOf('child_book').map(([, effect]) => effect)).toEqual(['began'])
})

test('a server over HTTP that ends while a call waits, or works on an answer', async () => {
  const ends: (() => unknown)[] = []
  const { url } = await sessionServer(
    (end) => void ends.push(end),
    () => effectTools(effects),
  )
  const gateway = await startGateway({ gone: { url, pannier: { state: 'stateful' } } })
  const first = await at(gateway.url, 'gone_book', 'gone')
  const working = at(
    gateway.url,
    'gone_wait',
    'working',
    answered(await at(gateway.url, 'gone_wait', 'working'), 'Ann'),
  )
  await vi.waitFor(() => expect(effects).toContain('waits working'), PATIENCE)
  for (const end of ends) end()
  expect((await working).data).toEqual({ code: 'CALL_LOST', server: 'gone' })
  expect((await at(gateway.url, 'gone_book', 'gone', answered(first, 'Ann'))).data).toEqual({
    code: 'CALL_LOST',
    server: 'gone',
  })
})
