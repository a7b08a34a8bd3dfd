/**
 * The phases of SEP-1685's migration as one table, for the `requestState` of rounds and for the `state` of pushed
 * questions. A pushed question is answered where it was asked, at another instance, and after the one that asked died.
 */
import type { CarryMode, Difference, ServerOptions } from 'pannier/server'
import { type CarryStore, memoryLedger } from 'pannier/state'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { post, type RequestMessage } from '../../examples/work-items/wire.ts'
import { proves } from '../proves.ts'
import { type Instance, quiet, startMortal } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'

const PLACES = ['modern', 'in place', 'at another instance', 'after the instance that asked died'] as const
type Place = (typeof PLACES)[number]

const echoing = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }
const item = { workItemId: 4522, fields: { 'System.State': 'Resolved' } }
const DONE = 'Bug #4522 resolved as Duplicate of Bug #4301. State set to Resolved and duplicate link created.'
const first = { action: 'accept', content: { resolution: 'Duplicate' } }
const second = { action: 'accept', content: { duplicateOfId: 4301 } }

const instances: Instance[] = []
afterEach(() => {
  for (const instance of instances.splice(0)) instance.close()
})

/** Everything that one deployment has in common. */
function deployment() {
  const rows = new Map<string, string>()
  const writes: string[] = []
  const store: CarryStore = {
    put: async (id, token) => void (rows.set(id, token), writes.push(id)),
    get: async (id) => rows.get(id),
    delete: async (id) => void rows.delete(id),
  }
  const differences: Difference[] = []
  const warnings: string[] = []
  const common: Partial<ServerOptions> = {
    store,
    ledger: memoryLedger(),
    onDifference: (difference) => void differences.push(difference),
    logger: { ...quiet, warn: (_, message) => void warnings.push(message) },
  }
  const start = async (carry: CarryMode): Promise<Instance> => {
    const instance = await startMortal({ ...common, carry })
    instances.push(instance)
    return instance
  }
  return { start, common, rows, writes, differences, warnings }
}

type Deployment = ReturnType<typeof deployment>

/** What becomes of the client's state and of the rows between question and answer. */
interface Accident {
  readonly state?: (state: string) => string | undefined
  readonly rows?: (rows: Map<string, string>) => void
}

const NONE: Accident = {}
const ROW_GONE: Accident = { rows: (rows) => rows.clear() }
const ROW_SPOILT: Accident = { rows: (rows) => rows.forEach((token, id) => rows.set(id, damaged(token))) }
const DAMAGED: Accident = { state: damaged }
const MISSING: Accident = { state: () => undefined }

/** The call by two instances, with the accident before the second answer; gives what became of it. */
async function play(
  { start, rows }: Deployment,
  place: Place,
  [from, to]: readonly [CarryMode, CarryMode],
  { state: change = (state) => state, rows: changeRows = () => {} }: Accident = NONE,
): Promise<string> {
  const one = await start(from)
  const two = place === 'in place' ? one : await start(to)
  if (place === 'modern') {
    const requestState = await toSecondRound(one.url)
    changeRows(rows)
    const { result, error } = await round(two.url, { duplicate_of: second }, change(requestState))
    return result?.content?.[0]?.text ?? `refused ${error?.code}`
  }
  const session = await RawSession.begin(one.url, { capabilities: echoing })
  const call = await session.call('update_work_item', item)
  const asked = await call.next()
  await session.answer(asked, first, { state: asked.state })
  const question = await call.next()
  changeRows(rows)
  if (place === 'after the instance that asked died') one.close()
  if (place !== 'in place') session.url = two.url
  const state = typeof question.state === 'string' ? change(question.state) : undefined
  const { status } = await session.answer(question, second, { state })
  if (status !== 202) return `refused ${status}`
  const stream = place === 'in place' ? call : await session.listen(call.lastEventId)
  const { result = {} } = (await stream.rest()).at(-1) ?? {}
  return (result['content'] as { text: string }[])[0]!.text
}

function round(url: string, inputResponses?: object, requestState?: string) {
  const params = { name: 'update_work_item', arguments: item, ...(inputResponses && { inputResponses, requestState }) }
  const message: RequestMessage = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  return post(url, message)
}

async function toSecondRound(url: string): Promise<string> {
  const { result } = await round(url)
  const asked = await round(url, { resolution: first }, result?.requestState)
  return asked.result!.requestState!
}

function damaged(state: string): string {
  const at = state.length - 20
  return state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1)
}

for (const place of PLACES) {
  const refused = place === 'modern' ? 'refused -32602' : 'refused 400'
  const inPhase = (carry: CarryMode) => [carry, carry] as const

  proves('ST-22 ST-16', `phase 0, ${place}: the store has the state, and the client none`, async () => {
    const deployed = deployment()
    expect(await play(deployed, place, inPhase('store'))).toBe(DONE)
    expect(deployed.writes).toHaveLength(2)
  })

  proves('ST-22', `phase 1, ${place}: what the client brings is held against the store, and agrees`, async () => {
    const deployed = deployment()
    expect(await play(deployed, place, inPhase('both'))).toBe(DONE)
    expect(deployed.writes).toHaveLength(2)
    expect([deployed.differences, deployed.warnings]).toEqual([[], []])
  })

  for (const [accident, reason] of [
    [ROW_GONE, 'missing-in-store'],
    [ROW_SPOILT, 'unreadable-in-store'],
  ] as const) {
    proves('ST-22', `phase 1, ${place}: a difference (${reason}) is reported once, and the call goes on`, async () => {
      const deployed = deployment()
      expect(await play(deployed, place, inPhase('both'), accident)).toBe(DONE)
      expect(deployed.differences).toEqual([{ method: 'tools/call', name: 'update_work_item', reason }])
    })
  }

  proves('ST-22 ST-8', `phase 1, ${place}: a damaged state is refused, whatever the store has`, async () => {
    const deployed = deployment()
    expect(await play(deployed, place, inPhase('both'), DAMAGED)).toBe(refused)
    expect(deployed.warnings).toEqual(['A state was refused.'])
  })

  proves('ST-23', `phase 2, ${place}: the state alone is enough`, async () => {
    const deployed = deployment()
    expect(await play(deployed, place, inPhase('client-first'), ROW_GONE)).toBe(DONE)
    expect(deployed.writes).toHaveLength(2)
    expect(deployed.warnings).toEqual([])
  })

  proves('ST-23', `phase 2, ${place}: the store serves when the state is invalid, and the log says so`, async () => {
    const deployed = deployment()
    expect(await play(deployed, place, inPhase('client-first'), DAMAGED)).toBe(DONE)
    expect(deployed.warnings).toEqual([expect.stringContaining('the one in the store was used')])
  })

  proves('ST-23 ST-8', `phase 2, ${place}: an invalid state that the store lacks is refused`, async () => {
    expect(await play(deployment(), place, inPhase('client-first'), { ...DAMAGED, ...ROW_GONE })).toBe(refused)
  })

  proves('ST-24', `phase 3, ${place}: nothing is written to the store, and a damaged state is refused`, async () => {
    const deployed = deployment()
    expect(await play(deployed, place, inPhase('client'))).toBe(DONE)
    expect(await play(deployed, place, inPhase('client'), DAMAGED)).toBe(refused)
    expect(deployed.writes).toEqual([])
  })
}

for (const place of PLACES.slice(1)) {
  proves('ST-16 ST-23', `phases 1 and 2, ${place}: the store serves when the state is missing`, async () => {
    for (const carry of ['both', 'client-first'] as const)
      expect(await play(deployment(), place, [carry, carry], MISSING)).toBe(DONE)
  })
}

proves('ST-16 ST-24', 'an answer that nobody has a state for is lost with the instance that asked', async () => {
  const died = 'after the instance that asked died'
  const outcomes = await Promise.all([
    play(deployment(), died, ['store', 'store'], ROW_GONE),
    play(deployment(), died, ['client', 'client'], MISSING),
    play(deployment(), died, ['process', 'process']),
  ])
  expect(outcomes).toEqual(['refused 410', 'refused 410', 'refused 410'])
})

const phases = ['store', 'both', 'client-first', 'client'] as const
for (const from of phases) {
  proves(
    'ST-22 ST-23 ST-24',
    `a pushed question of a dead instance that carried by '${from}' is answered at one in any other phase`,
    async () => {
      const others = phases.filter((phase) => phase !== from)
      const outcomes = others.map((to) => play(deployment(), 'after the instance that asked died', [from, to]))
      expect(await Promise.all(outcomes)).toEqual([DONE, DONE, DONE])
    },
  )
}

proves(
  'ST-17',
  'tools, prompts and kinds of questions may have their states with the client, in the store, or nowhere',
  async () => {
    const { common, writes } = deployment()
    const instance = await startMortal({ ...common, carry: { sampling: 'process', roots: 'store' } })
    instances.push(instance)
    const form = { message: 'Name?', schema: z.object({ name: z.string() }) }
    instance.server.tool('private', { description: 'Asks.', carry: 'process' }, async (_, ctx) => {
      await ctx.ask('name', form)
      return 'asked'
    })
    instance.server.prompt('kept', { description: 'Asks.', carry: { form: 'store' } }, async (_, ctx) => {
      await ctx.ask('name', form)
      return 'asked'
    })
    const capabilities = { ...echoing, sampling: {}, roots: {} }
    const session = await RawSession.begin(instance.url, { capabilities })
    const asked = async (method: string, name: string) => {
      const stored = writes.length
      const question = await (await session.open(method, { name })).next()
      return [name, 'state' in question, writes.length > stored]
    }
    expect([
      await asked('tools/call', 'greet'),
      await asked('tools/call', 'sum_up'),
      await asked('tools/call', 'folders'),
      await asked('tools/call', 'private'),
      await asked('prompts/get', 'kept'),
    ]).toEqual([
      ['greet', true, false],
      ['sum_up', false, false],
      ['folders', false, true],
      ['private', false, false],
      ['kept', false, true],
    ])
    await round(instance.url)
    expect(writes).toHaveLength(2)
  },
)

proves('ST-17', "a round's state is where the kinds of its questions say, in the modern era, too", async () => {
  const { common, writes } = deployment()
  const instance = await startMortal({ ...common, carry: { sampling: 'store' } })
  instances.push(instance)
  await round(instance.url)
  expect(writes).toHaveLength(0)
  instance.server.remove('tools', 'update_work_item')
  const input = z.object({ workItemId: z.number(), fields: z.record(z.string(), z.unknown()) })
  const form = { message: 'Name?', schema: z.object({ name: z.string() }) }
  const options = { description: 'Asks.', input, carry: { form: 'both' } } as const
  instance.server.tool('update_work_item', options, async (_, ctx) => {
    await ctx.ask('name', form)
    return 'asked'
  })
  const { result } = await round(instance.url)
  expect(writes).toHaveLength(1)
  expect(result?.requestState).toMatch(new RegExp(`^${writes[0]}~`))
})

test('a client that echoes nothing relies on the store, unless the mode is client', async () => {
  for (const [carry, writes] of [
    ['both', 1],
    ['client', 0],
    ['process', 0],
  ] as const) {
    const deployed = deployment()
    const { url } = await deployed.start(carry)
    const session = await RawSession.begin(url, { capabilities: { elicitation: {} } })
    const question = await (await session.call('greet')).next()
    expect(question).not.toHaveProperty('state')
    expect([carry, deployed.writes.length]).toEqual([carry, writes])
  }
})
