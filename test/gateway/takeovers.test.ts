/** A call waits in a gateway that is killed, and its client's next round comes to two other gateways at the same time. */
import { beforeAll, expect, test } from 'vitest'
import { call, type Wire } from '../fixtures/modernClient.ts'
import { newDatabase } from '../postgres/database.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { answered, textOf } from './fixtures/parkedRounds.ts'
import { sessionServer } from './fixtures/gateways.ts'
import { startMember, startMortalMember } from './fixtures/member.ts'

const effects: string[] = []
let servers: object = {}

beforeAll(async () => {
  const ends: (() => unknown)[] = []
  const { url } = await sessionServer(
    (end) => void ends.unshift(end),
    () => effectTools(effects),
  )
  servers = { desk: { url, pannier: { state: 'stateful' } }, plain: { url, pannier: { state: 'stateless' } } }
  return async () => {
    for (const end of ends) await end()
  }
})

async function at(url: string, tool: string, key: string, brought: Wire = {}): Promise<Wire> {
  const params = { requestState: brought.requestState, inputResponses: brought.inputResponses }
  const { message } = await call(url, tool, { key }, { params })
  return message.result ?? message.error
}

const effectsOf = (key: string): string[] => effects.filter((effect) => effect.endsWith(` ${key}`))

test.each([
  // Without PostgreSQL, a caller of "desk" has a gateway that all choose alike, and need not be where the call came to.
  ['without, where gateways know each other', ['plain_look'], async () => ({})],
  ['with PostgreSQL', ['plain_look', 'desk_look'], async () => ({ postgres: await newDatabase() })],
] as const)('a call begins anew once, and all rounds get its result: %s', async (way, tools, settingsOf) => {
  const settings = await settingsOf()
  const owner = await startMortalMember(servers, { settings })
  const others = await Promise.all([1, 2].map(() => startMember(servers, { settings, peers: [owner.url] })))
  const keys = tools.map((tool) => `${tool} ${way}`)
  const answers = await Promise.all(
    tools.map(async (tool, turn) => {
      const first = await at(owner.url, tool, keys[turn] ?? '')
      return answered(await at(owner.url, tool, keys[turn] ?? '', answered(first, 'Ann')), 'Lee')
    }),
  )
  await owner.end('SIGKILL')
  for (const [turn, tool] of tools.entries()) {
    const key = keys[turn] ?? ''
    const rounds = await Promise.all([...others, ...others].map(({ url }) => at(url, tool, key, answers[turn])))
    expect(rounds.map(textOf)).toEqual(rounds.map(() => 'Ann Lee'))
    expect(effectsOf(key)).toEqual([`began ${key}`, `began ${key}`, `done ${key}`])
  }
})
