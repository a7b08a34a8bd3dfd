/** Two gateways before one server of the session era: a call waits in one of them, and its answer comes to the other. */
import { beforeAll, expect, test, vi } from 'vitest'
import type { ServerOptions } from 'pannier/server'
import { call, type Wire } from '../fixtures/modernClient.ts'
import { startBalancer } from '../survival/balancer.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { call as callBy, connectClient, sessionServer, startGateway } from './fixtures/gateways.ts'
import { answered, textOf } from './fixtures/parkedRounds.ts'

const PATIENCE = { timeout: 30_000 }
const effects: string[] = []
const principal: ServerOptions['principal'] = async ({ header }) => ({ id: header('x-user') ?? 'nobody' })
let owner = ''
let other = ''

beforeAll(async () => {
  const ends: (() => unknown)[] = []
  const until = (end: () => unknown): void => void ends.unshift(end)
  const { url } = await sessionServer(until, () => effectTools(effects))
  const servers = { desk: { url, pannier: { state: 'stateful' } } }
  const top = { gateway: { views: { some: {} } } }
  owner = (await startGateway(servers, { principal }, top, until)).url
  other = (await startGateway(servers, { principal }, top, until)).url
  return async () => {
    for (const end of ends) await end()
  }
})

/** A client whose name is Ann, at one of the gateways. */
async function at(url: string, tool: string, key: string, brought: Wire = {}, more: object = {}): Promise<Wire> {
  const params = { requestState: brought.requestState, inputResponses: brought.inputResponses }
  const headers = { 'x-user': 'ann', ...more }
  const { message } = await call(url, `desk_${tool}`, { key }, { params, headers })
  return message.result ?? message.error
}

test('an answer that comes to another gateway reaches the call that waits for it', async () => {
  const first = await at(owner, 'book', 'a1')
  const second = await at(other, 'book', 'a1', answered(first, 'Ann'))
  expect(Object.values(second.inputRequests)).toMatchObject([{ params: { message: 'Second?' } }])
  expect(textOf(await at(other, 'book', 'a1', answered(second, 'Lee')))).toBe('Ann Lee')
  expect(effects.filter((effect) => effect.endsWith(' a1'))).toEqual(['began a1', 'done a1'])
})

test('an official client of the stateless era is asked by way of a plain balancer', async () => {
  const balancer = await startBalancer()
  balancer.targets = [owner, other]
  const client = await connectClient('v2', balancer.url, { 'x-user': 'ann' })
  for (const key of ['b1', 'b2', 'b3', 'b4'])
    expect(await callBy(client, 'desk_book', { key })).toBe('undefined undefined')
  for (const key of ['b1', 'b2', 'b3', 'b4'])
    expect(effects.filter((effect) => effect.endsWith(` ${key}`))).toEqual([`began ${key}`, `done ${key}`])
  balancer.close()
})

test('a round that is sent again, wherever it comes to, gets the same response, and its first answer counts', async () => {
  const first = await at(owner, 'book', 'c1')
  const urls = [other, owner, other]
  const seconds = await Promise.all(urls.map((url, turn) => at(url, 'book', 'c1', answered(first, `Ann ${turn}`))))
  for (const second of seconds) expect(second.inputRequests).toEqual(seconds[0].inputRequests)
  const ends: string[] = []
  for (const url of urls) ends.push(textOf(await at(url, 'book', 'c1', answered(seconds[1], `Lee ${ends.length}`))))
  expect(ends[0]).toMatch(/^Ann [012] Lee 0$/)
  expect(ends).toEqual(ends.map(() => ends[0]))
  expect(await at(other, 'book', 'c1', answered(first, 'late'))).toMatchObject({ inputRequests: {} })
  expect(effects.filter((effect) => effect.endsWith(' c1'))).toEqual(['began c1', 'done c1'])
})

test('progress comes back by way of the other gateway, before the response', async () => {
  const headers = { 'x-user': 'ann' }
  const first = await call(owner, 'desk_book', { key: 'd1' }, { headers, meta: { progressToken: 6 } })
  const params = answered(first.message.result, 'Ann')
  const { messages } = await call(other, 'desk_book', { key: 'd1' }, { params, headers, meta: { progressToken: 7 } })
  expect(messages.map(({ method, params: sent }: Wire) => [method, sent?.progressToken])).toEqual([
    ['notifications/progress', 7],
    [undefined, undefined],
  ])
})

test('a client that leaves the other gateway ends the work behind', async () => {
  const first = await at(owner, 'wait', 'e1')
  const leaving = new AbortController()
  const params = answered(first, 'Ann')
  const waiting = call(
    other,
    'desk_wait',
    { key: 'e1' },
    { params, headers: { 'x-user': 'ann' }, signal: leaving.signal },
  )
  const left = waiting.catch(() => 'left')
  await vi.waitFor(() => expect(effects).toContain('waits e1'), PATIENCE)
  leaving.abort()
  expect(await left).toBe('left')
  await vi.waitFor(() => expect(effects).toContain('cancelled e1'), { timeout: 5000 })
})

test('a ticket counts for its caller, its tool, its arguments and its address alone, at each gateway', async () => {
  const first = await at(owner, 'book', 'f1')
  const answer = answered(first, 'Ann')
  for (const url of [owner, other]) {
    expect(await at(url, 'book', 'f1', answer, { 'x-user': 'bob' })).toMatchObject({ code: -32602 })
    expect(await at(url, 'look', 'f1', answer)).toMatchObject({ code: -32602 })
    expect(await at(url, 'book', 'f2', answer)).toMatchObject({ code: -32602 })
    const alone = { params: answer, headers: { 'x-user': 'ann' } }
    expect((await call(`${url}/desk`, 'book', { key: 'f1' }, alone)).message.error).toMatchObject({ code: -32602 })
    const viewed = await call(new URL('/views/some', url).href, 'desk_book', { key: 'f1' }, alone)
    expect(viewed.message.error).toMatchObject({ code: -32602 })
  }
  expect(await at(other, 'book', 'f1', answer)).toHaveProperty('inputRequests')
})

test('a hundred calls of one caller may wait, one more is refused, and those of others wait all the same', async () => {
  const waits = (user: string, key: string): Promise<Wire> => at(owner, 'book', key, {}, { 'x-user': user })
  const all = await Promise.all(Array.from({ length: 100 }, (_, turn) => waits('many', `h${turn}`)))
  expect(all.filter(({ inputRequests }) => inputRequests === undefined)).toEqual([])
  expect(await waits('many', 'h100')).toMatchObject({ data: { code: 'BACKEND_BUSY', server: 'desk' } })
  expect(await waits('other', 'o1')).toHaveProperty('inputRequests')
})

test('a call whose gateway is gone ends with an error that says what may have happened', async () => {
  const ends: (() => unknown)[] = []
  const { url } = await sessionServer(
    (end) => void ends.push(end),
    () => effectTools(effects),
  )
  const third = await startGateway(
    { desk: { url, pannier: { state: 'stateful' } } },
    { principal },
    {},
    (end) => void ends.push(end),
  )
  const first = await at(third.url, 'book', 'g1')
  for (const end of ends.reverse()) await end()
  const { message, data } = await at(other, 'book', 'g1', answered(first, 'Ann'))
  expect(data).toEqual({ code: 'CALL_LOST', server: 'desk' })
  expect(message).toMatch(/"desk" was in the middle of "book" when .* nothing was repeated/)
})
