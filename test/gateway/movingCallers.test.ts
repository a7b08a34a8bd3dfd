/** Callers of servers that keep something, when gateways without PostgreSQL are added, or end. */
import type { Gateway } from 'pannier/gateway'
import { beforeAll, expect, test } from 'vitest'
import { rows } from '../amount.ts'
import { call as byHand } from '../fixtures/modernClient.ts'
import { principal, serversOfBothEras, untilAllEnd } from './fixtures/bothEras.ts'
import { call, CLIENTS, connectClient, startGateway } from './fixtures/gateways.ts'

const until = untilAllEnd()
let servers: object = {}

beforeAll(async () => {
  servers = (await serversOfBothEras(until)).servers
})

const CALLERS = Array.from({ length: 12 }, (_, turn) => `caller ${turn}`)

interface Member {
  readonly url: string
  readonly gateway: Gateway
}

/** A gateway that knows these, and is known there. */
async function join(others: readonly Member[]): Promise<Member> {
  const member = await startGateway(servers, { principal })
  await member.gateway.meet(others.map(({ url }) => new URL(url).origin))
  return member
}

/** What each caller finds at a server, by way of each gateway; all of them must say the same. */
async function found(members: readonly Member[], server: string): Promise<string[]> {
  return Promise.all(
    CALLERS.map(async (caller) => {
      const texts: string[] = []
      for (const { url } of members) {
        const { message } = await byHand(url, `${server}_recall`, {}, { headers: { 'x-user': caller } })
        texts.push(message.result.content[0].text)
      }
      expect(new Set(texts)).toHaveProperty('size', 1)
      return texts[0] ?? ''
    }),
  )
}

/** Each of them notes this, or their name. */
async function noteAll(members: readonly Member[], server: string, callers: readonly string[], text?: string) {
  for (const caller of callers)
    await byHand(members[0]?.url ?? '', `${server}_note`, { text: text ?? caller }, { headers: { 'x-user': caller } })
}

/** Two gateways. */
async function start(): Promise<Member[]> {
  const first = await join([])
  return [first, await join([first])]
}

/** Adds gateways until one of them serves somebody. Who that is follows from addresses, which are others each time. */
async function joinUntil(members: Member[], hasMoved: () => Promise<boolean>): Promise<void> {
  do members.push(await join(members))
  while (!(await hasMoved()) && members.length < 8)
}

test.each(rows(['stdio', 'http'], 1))(
  'callers of %s whom a new gateway serves begin anew, find what they left before when it ends, and all others keep what they have',
  async (server) => {
    const members = await start()
    await noteAll(members, server, CALLERS)
    expect(await found(members, server)).toEqual(CALLERS)
    let notes: readonly string[] = []
    await joinUntil(members, async () => (notes = await found(members, server)).includes(''))
    const moved = CALLERS.filter((_, turn) => notes[turn] === '')
    const stayed = CALLERS.map((caller) => (moved.includes(caller) ? '' : caller))
    expect(notes).toEqual(stayed)
    expect(stayed).not.toEqual(CALLERS.map(() => ''))
    await noteAll(members, server, moved, 'later')
    expect(await found(members, server)).toEqual(stayed.map((text) => (text === '' ? 'later' : text)))
    // What they had at the gateway before is there for `idleSeconds`.
    await members.pop()?.gateway.drain({ deadlineMs: 0 })
    expect(await found(members, server)).toEqual(CALLERS)
  },
)

test('any client of a caller who moves goes on, with nothing kept', async () => {
  const members = await start()
  const clients = await Promise.all(
    CALLERS.map((caller, turn) =>
      connectClient(CLIENTS[turn % CLIENTS.length] ?? 'v1', members[turn % 2]?.url ?? '', { 'x-user': caller }),
    ),
  )
  for (const [turn, client] of clients.entries()) await call(client, 'http_note', { text: CALLERS[turn] })
  let notes: readonly string[] = []
  const recall = () => Promise.all(clients.map((client) => call(client, 'http_recall')))
  const hasMoved = (_: unknown, kind: number) =>
    notes.some((text, turn) => text === '' && turn % CLIENTS.length === kind)
  await joinUntil(members, async () => {
    notes = await recall()
    return CLIENTS.every(hasMoved)
  })
  expect(notes.every((text, turn) => text === '' || text === CALLERS[turn])).toBe(true)
  expect(notes).toContain('')
  for (const [turn, client] of clients.entries()) {
    await call(client, 'http_note', { text: 'again' })
    expect(await call(client, 'http_recall')).toBe(notes[turn] === '' ? 'again' : `${CALLERS[turn]} again`)
    expect(await call(client, 'http_confirm')).toBe('accept true, accept true')
  }
})
