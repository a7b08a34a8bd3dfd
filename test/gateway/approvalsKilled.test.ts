/** Gateways that are killed while calls wait for people, or are sent: what may be repeated goes on, the rest says that it is lost. */
import { onTestFinished, describe, expect, test, vi } from 'vitest'
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { newKey } from 'pannier/state'
import { fileURLToPath } from 'node:url'
import { startInstance } from '../../examples/work-items/fleet.ts'
import { createServer } from 'pannier/server'
import { z } from 'zod'
import { askless, textOf, type ToolResult, waitingIn } from '../questions/fixtures/askless.ts'
import { byName, principalOf } from '../questions/fixtures/names.ts'
import { quiet } from '../interop/fixtures/instances.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { newStore, STORES } from './fixtures/bank.ts'
import { sessionServer } from './fixtures/gateways.ts'

const PROGRAM = fileURLToPath(new URL('programs/askingGateway.ts', import.meta.url))
const PATIENCE = { timeout: 60_000, interval: 100 }
const mia = principalOf('mia')

/** A server whose tools stop in the middle of their effect until the test lets them go on. */
async function slowServer() {
  const effects: string[] = []
  const gates: (() => void)[] = []
  const server = createServer({ name: 'slow', version: '1', logger: quiet })
  for (const [name, annotations] of [
    ['send', {}],
    ['set', { idempotentHint: true }],
  ] as const)
    server.tool(name, { description: 'Works.', input: z.object({ key: z.string() }), annotations }, async ({ key }) => {
      effects.push(`began ${key}`)
      await new Promise<void>((resolve) => gates.push(resolve))
      effects.push(`done ${key}`)
      return `done ${key}`
    })
  const { url } = await server.listen({ drainOnTerm: false })
  onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
  return { url, effects, letGo: () => gates.splice(0).forEach((go) => go()) }
}

/** Starts gateways over one store, and gives the list of their questions. */
async function gatewaysOver(servers: object, settings: object) {
  const file = { mcpServers: servers, gateway: { admin: false, ...settings } }
  const keys = newKey()
  const env = { CONFIG: JSON.stringify(file), PANNIER_KEYS: keys }
  const start = (name: string) => {
    const starting = startInstance({ name, program: PROGRAM, env, startMs: 60_000 })
    onTestFinished(async () => void (await (await starting).end('SIGKILL')))
    return starting
  }
  // Nobody calls here: it is the program of a person, and runs no task.
  const { questions, ...program } = await personOver(file, keys)
  return { start, questions, program }
}

async function personOver(file: object, keys: string) {
  const gateway = createGateway({ ...(await gatewayConfigOf(file)), principal: byName, keys, logger: quiet })
  onTestFinished(() => gateway.drain({ deadlineMs: 0, idleMs: 0 }))
  return { gateway, questions: gateway.questions }
}

async function endOf(client: Awaited<ReturnType<typeof askless>>, waiting: ToolResult): Promise<string> {
  const { ticket } = waitingIn(waiting)
  return vi.waitFor(async () => {
    const result = await client.call('continue_call', { ticket })
    expect(result._meta?.['dev.pannier/waiting']).toBeUndefined()
    return textOf(result)
  }, PATIENCE)
}

describe.each(STORES)('with %s', (store) => {
  test('a gateway killed while it sends an approved call: another one repeats only what may be repeated', async () => {
    const { url, effects, letGo } = await slowServer()
    const approve = [{ if: 'true', by: 'role:manager' }]
    const servers = { slow: { url, pannier: { state: 'stateless' } } }
    const { start, questions } = await gatewaysOver(servers, { ...(await newStore(store)), approve })
    const a = await start('A')
    const ann = await askless('SDK v2', a.url, 'ann')
    const waiting = [await ann.call('slow_send', { key: 'sent' }), await ann.call('slow_set', { key: 'set' })]
    expect(effects).toEqual([])
    const open = await questions.open({ for: mia })
    for (const { id } of open.questions) await questions.answer(id, { approve: true }, mia)
    await vi.waitFor(() => expect(effects.toSorted()).toEqual(['began sent', 'began set']), PATIENCE)
    await a.end('SIGKILL')
    const b = await start('B')
    await vi.waitFor(() => expect(effects.filter((each) => each === 'began set')).toHaveLength(2), PATIENCE)
    letGo()
    const other = await askless('SDK v1', b.url, 'ann')
    expect(await endOf(other, waiting[0]!)).toContain('was in the middle of "send" when the gateway that sent it ended')
    expect(await endOf(other, waiting[1]!)).toBe('done set')
    expect(effects.filter((each) => each === 'began sent')).toHaveLength(1)
  })

  test('a question of a session-era server whose gateway is killed: what may be repeated goes on with its answers', async () => {
    const effects: string[] = []
    const { url } = await sessionServer(undefined, () => effectTools(effects))
    const servers = { desk: { url, pannier: { state: 'stateful' } } }
    const { start, questions } = await gatewaysOver(servers, await newStore(store))
    const a = await start('A')
    const ann = await askless('SDK v2', a.url, 'ann')
    const waiting = [await ann.call('desk_look', { key: 'looked' }), await ann.call('desk_book', { key: 'booked' })]
    const answer = async (name: string, tools: readonly string[]) => {
      const open = await vi.waitFor(async () => {
        const found = (await questions.open({ for: principalOf('ann') })).questions
        expect(found.map(({ tool }) => tool).toSorted()).toEqual(tools)
        return found
      }, PATIENCE)
      for (const { id } of open) await questions.answer(id, { name }, principalOf('ann'))
    }
    await answer('Ann', ['desk_book', 'desk_look'])
    await vi.waitFor(async () => {
      const { questions: found } = await questions.open({ for: principalOf('ann') })
      expect(found.map(({ message }) => message)).toEqual(['Second?', 'Second?'])
    }, PATIENCE)
    await a.end('SIGKILL')
    const b = await start('B')
    await answer('Lee', ['desk_book', 'desk_look'])
    const other = await askless('SDK v1', b.url, 'ann')
    expect(await endOf(other, waiting[0]!)).toBe('Ann Lee')
    expect(await endOf(other, waiting[1]!)).toContain('was in the middle of "book"')
    expect(effects.filter((each) => each === 'began booked')).toHaveLength(1)
    expect(effects.filter((each) => each.startsWith('done'))).toEqual(['done looked'])
  })
})
