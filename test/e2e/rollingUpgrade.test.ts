import { beforeAll, expect } from 'vitest'
import { type AnswerMessage, post, servedBy } from '../../examples/work-items/wire.ts'
import { proves } from '../proves.ts'
import { type Instance, useInstances } from './fixtures/instances.ts'

const { start } = useInstances()

const program = 'examples/demos/upgrade/server.ts'
let old: Instance
let next: Instance
let reworded: Instance

beforeAll(async () => {
  ;[old, next, reworded] = await Promise.all([
    start('old', program, { VERSION: '1' }),
    start('next', program, { VERSION: '2' }),
    start('reworded', program, { VERSION: '3' }),
  ])
})

let id = 0

/** The call, with the answers of a person who has a name for each site, and the state of the answer before. */
function call({ url }: Instance, keys: readonly string[] = [], before?: AnswerMessage): Promise<AnswerMessage> {
  const inputResponses = Object.fromEntries(
    keys.map((key) => [key, { action: 'accept', content: { name: `${key}!` } }]),
  )
  const requestState = before?.result?.requestState
  const params = {
    name: 'find_accounts',
    arguments: {},
    ...(keys.length > 0 && { inputResponses }),
    ...(requestState && { requestState }),
  }
  return post(url, { jsonrpc: '2.0', id: ++id, method: 'tools/call', params })
}

function asks({ result }: AnswerMessage): string[] {
  return Object.keys(result?.inputRequests ?? {}).toSorted()
}

proves(
  'MRTR-12 ST-20',
  'when a new version asks for microsoft_login instead of google_login, github_login is not asked again',
  async () => {
    const asked = await call(old)
    expect(asks(asked)).toEqual(['github_login', 'google_login'])
    const upgraded = await call(next, ['github_login', 'google_login'], asked)
    expect(asks(upgraded)).toEqual(['microsoft_login'])
    const done = await call(next, ['microsoft_login'], upgraded)
    expect(done.result!.content![0]!.text).toBe('github_login=github_login! microsoft_login=microsoft_login!')
    expect([asked, upgraded, done].map(servedBy)).toEqual(['old', 'next', 'next'])
  },
)

proves('ST-18', 'two requests of one round share its one state', async () => {
  const asked = await call(old)
  expect(asks(asked)).toEqual(['github_login', 'google_login'])
  expect(asked.result!.requestState).toEqual(expect.any(String))
  const done = await call(old, ['github_login', 'google_login'], asked)
  expect(done.result!.content![0]!.text).toBe('github_login=github_login! google_login=google_login!')
})

proves(
  'MRTR-12',
  'a version that only asks in another order and in other words asks only the changed question again',
  async () => {
    const asked = await call(old)
    const upgraded = await call(reworded, ['github_login', 'google_login'], asked)
    expect(asks(upgraded)).toEqual(['google_login'])
    expect(upgraded.result!.inputRequests!['google_login']!.params.message).toContain('Google Workspace')
    const done = await call(reworded, ['google_login'], upgraded)
    expect(done.result!.content![0]!.text).toBe('github_login=github_login! google_login=google_login!')
  },
)

proves('MRTR-12', 'a call that lands on the old version once more keeps what the new one has gathered', async () => {
  const upgraded = await call(next, ['github_login', 'google_login'], await call(old))
  const rolledBack = await call(old, ['microsoft_login'], upgraded)
  expect(asks(rolledBack)).toEqual([])
  expect(rolledBack.result!.content![0]!.text).toBe('github_login=github_login! google_login=google_login!')
})
