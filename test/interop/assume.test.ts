/** What an operator says of session-era clients that declare nothing, and states that are refused on stdio. */
import { PassThrough } from 'node:stream'
import { createServer, type Assume, type SessionClient } from 'pannier/server'
import { afterEach, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { type Instance, quiet, startHere, startMortal } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'
import { RawStdio } from './fixtures/rawStdio.ts'
import { offer } from './fixtures/tools.ts'

const capabilities = { elicitation: {} }
const text = (value: string) => ({ result: { content: [{ type: 'text', text: value }] } })
const accept = (content: object) => ({ action: 'accept', content })
const item = { workItemId: 4522, fields: { 'System.State': 'Resolved' } }

const instances: Instance[] = []
afterEach(() => {
  for (const instance of instances.splice(0)) instance.close()
})

async function start(assume: Assume, begin: typeof startHere = startHere): Promise<Instance> {
  const instance = await begin({ assume })
  instances.push(instance)
  return instance
}

proves(
  'ST-14',
  'a client that declares nothing gets a state, and its call outlives its instance, if so assumed',
  async () => {
    const [one, two] = [await start({ stateEcho: true }, startMortal), await start({})]
    const session = await RawSession.begin(one.url, { capabilities })
    const call = await session.call('greet')
    const question = await call.next()
    expect(question).toHaveProperty('state')
    one.close()
    session.url = two.url
    await session.answer(question, accept({ name: 'Ann' }), { state: question.state })
    expect(await (await session.listen(call.lastEventId)).rest()).toMatchObject([text('Hello Ann')])
  },
)

proves(
  'ST-14 ST-16',
  'a client that is assumed to echo, and does not, is served by the process that asked',
  async () => {
    const { url } = await start({ stateEcho: true })
    const session = await RawSession.begin(url, { capabilities })
    const call = await session.call('greet')
    await session.answer(await call.next(), accept({ name: 'Ann' }))
    expect(await call.next()).toMatchObject(text('Hello Ann'))
  },
)

test('a client that declares nothing gets its questions as results, if so assumed, at every instance', async () => {
  const [one, two] = [await start({ rounds: true }), await start({})]
  const session = await RawSession.begin(one.url, { capabilities })
  const round = (more: object = {}) =>
    session.request('tools/call', { name: 'update_work_item', arguments: item, ...more })
  const first = await round()
  expect(first.result).toMatchObject({ resultType: 'input_required' })
  session.url = two.url
  const inputResponses = { resolution: accept({ resolution: 'Fixed' }) }
  const { result } = await round({ inputResponses, requestState: first.result?.['requestState'] })
  expect({ result }).toMatchObject(text('Bug #4522 resolved as Fixed.'))
})

proves(
  'ST-15',
  'what is assumed may depend on name and version of the client, and on the protocol version',
  async () => {
    const clients: SessionClient[] = []
    const { url } = await start((client) => {
      clients.push(client)
      return client.protocolVersion === '2025-11-25' ? { stateEcho: client.name === 'raw' } : undefined
    })
    const asked = async (version: string) => {
      const session = await RawSession.begin(url, { capabilities, version })
      return 'state' in (await (await session.call('greet')).next())
    }
    expect([await asked('2025-11-25'), await asked('2025-06-18')]).toEqual([true, false])
    expect(clients).toEqual([
      { name: 'raw', version: '1', protocolVersion: '2025-11-25' },
      { name: 'raw', version: '1', protocolVersion: '2025-06-18' },
    ])
  },
)

test('what a client declares counts before what is assumed', async () => {
  const { url } = await start({ stateEcho: true })
  const declared = { ...capabilities, experimental: { 'dev.pannier/state-echo': { at: ['meta'] } } }
  const session = await RawSession.begin(url, { capabilities: declared })
  const question = await (await session.call('greet')).next()
  expect(question).not.toHaveProperty('state')
  expect(question.params?.['_meta']).toHaveProperty(['dev.pannier/state'])
})

test('what cannot be assumed is refused, at once or when a function says it', async () => {
  const assume = { stateecho: true } as Assume
  const message = 'The assume option has no option "stateecho"; did you mean "stateEcho"?'
  expect(() => createServer({ name: 's', version: '1', assume })).toThrow(message)
  const errors: object[] = []
  const logger = { ...quiet, error: (details: object) => void errors.push(details) }
  const instance = await startHere({ assume: () => ({ stateecho: true }) as object, logger })
  instances.push(instance)
  await expect(RawSession.begin(instance.url)).resolves.toMatchObject({ initialized: { error: { code: -32603 } } })
  expect(errors).toMatchObject([{ err: { message } }])
})

proves('ST-8', 'a refused state on stdio is answered and logged, and its question stays open', async () => {
  const warnings: unknown[] = []
  const logger = { ...quiet, warn: (details: object, message: string) => void warnings.push([message, details]) }
  const keyed = { name: 'interop', version: '1.0.0', assume: { stateEcho: true } }
  const server = offer(createServer({ ...keyed, logger }))
  const [input, output] = [new PassThrough(), new PassThrough()]
  const served = server.stdio({ input, output, drainOnTerm: false })
  const client = new RawStdio(input, output)
  await client.initialize(capabilities)
  warnings.length = 0
  client.send({ id: 1, method: 'tools/call', params: { name: 'greet' } })
  const { id, state } = await client.next()
  for (const bad of [`${String(state)}x`, 'foo', { plain: true }]) {
    client.send({ id, result: accept({ name: 'Eve' }), state: bad })
    expect(await client.next()).toMatchObject({ id, error: { code: -32602 } })
  }
  expect(warnings).toEqual(
    Array(3).fill(['A state was refused.', { code: expect.stringMatching(/^STATE_/), why: expect.any(String) }]),
  )
  client.send({ id, result: accept({ name: 'Ann' }), state })
  expect(await client.next()).toMatchObject(text('Hello Ann'))
  input.end()
  await served
})
