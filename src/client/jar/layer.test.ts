import { describe, expect, test, vi } from 'vitest'
import { Above, FakeTransport, settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { proves } from '../../../test/proves.ts'
import { type JarNews, type JarStore, memoryJar } from '../../state/jar/index.ts'
import { jar } from './layer.ts'

const SESSION = 'modelcontextprotocol.io/state/session'
const SERVER = 'modelcontextprotocol.io/state/server'
const owner = { server: 'a.example', principal: 'ann', context: 'chat' }

function layered(store: JarStore = memoryJar(), options: Partial<typeof owner> = {}) {
  const wire = new FakeTransport()
  const news: JarNews[] = []
  const onNews = (each: readonly JarNews[]) => void news.push(...each)
  const above = new Above(jar(store, { ...owner, ...options, onNews })(wire))
  const list = async (id: number) => {
    await above.send({ id, method: 'tools/list' })
    return wire.sent.at(-1)?.params?.['_meta']
  }
  const sets = async (id: number, _meta: object, rest: object = {}) => {
    wire.say({ id, result: { ...rest, _meta } })
    await settled()
  }
  return { wire, above, news, list, sets }
}

proves('CS-1', 'the client declares state in initialize, and in the envelope of each request', async () => {
  const { wire, above } = layered()
  await above.send({ id: 0, method: 'initialize', params: { capabilities: { roots: {} } } })
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions: { x: {} } } }
  await above.send({ id: 1, method: 'tools/list', params: { _meta } })
  expect(wire.sent[0]?.params?.['capabilities']).toEqual({
    roots: {},
    state: {},
    extensions: { 'dev.pannier/client-state': {} },
  })
  expect(wire.sent[1]?.params?.['_meta']['io.modelcontextprotocol/clientCapabilities']).toEqual({
    state: {},
    extensions: { x: {}, 'dev.pannier/client-state': {} },
  })
})

proves('CS-8', 'every request carries what results set, of any method, also without parameters', async () => {
  const { wire, above, sets } = layered()
  await above.send({ id: 1, method: 'tools/list' })
  await sets(1, { [SESSION]: { cart: [1] }, [SERVER]: { theme: 'dark' } }, { tools: [] })
  const methods = ['tools/call', 'ping', 'resources/read', 'completion/complete', 'server/discover', 'custom/x']
  for (const [id, method] of methods.entries()) await above.send({ id, method })
  const sent = wire.sent.slice(1)
  expect(sent.map(({ method }) => method)).toEqual(methods)
  for (const { params } of sent) {
    expect(params).toEqual({ _meta: { [SESSION]: { cart: [1] }, [SERVER]: { theme: 'dark' } } })
  }
})

proves(
  'CS-9',
  'a key without state in it is not sent, nor any with initialize, a notification or an answer',
  async () => {
    const { wire, above, list, sets } = layered()
    expect(await list(1)).toBeUndefined()
    await sets(1, { [SERVER]: { theme: 'dark' } })
    expect(await list(2)).toEqual({ [SERVER]: { theme: 'dark' } })
    await above.send({ id: 0, method: 'initialize', params: { capabilities: {} } })
    await above.send({ method: 'notifications/initialized' })
    await above.send({ id: 'q', result: {} })
    expect(JSON.stringify(wire.sent.slice(2))).not.toContain('dark')
    await sets(2, { [SERVER]: { theme: null } })
    expect(await list(3)).toBeUndefined()
  },
)

proves('CS-8', 'the state of an interim result goes with the retry', async () => {
  const { above, wire, sets } = layered()
  await above.send({ id: 1, method: 'tools/call', params: { name: 'a' } })
  await sets(1, { [SESSION]: { asked: true } }, { resultType: 'input_required', requestState: 's' })
  await above.send({ id: 2, method: 'tools/call', params: { name: 'a', requestState: 's', _meta: { mine: 1 } } })
  expect(wire.sent.at(-1)?.params).toEqual({
    name: 'a',
    requestState: 's',
    _meta: { mine: 1, [SESSION]: { asked: true } },
  })
})

test('the http:// spelling is read, and the other is sent', async () => {
  const { list, sets } = layered()
  await sets(1, { [`http://${SESSION}`]: { a: 1 } })
  expect(await list(2)).toEqual({ [SESSION]: { a: 1 } })
})

test('servers, principals and contexts do not see each other’s state', async () => {
  const store = memoryJar()
  await layered(store).sets(1, { [SESSION]: { a: 1 }, [SERVER]: { b: 2 } })
  expect(await layered(store, { server: 'b.example' }).list(1)).toBeUndefined()
  expect(await layered(store, { principal: 'bob' }).list(1)).toBeUndefined()
  expect(await layered(store, { context: 'other' }).list(1)).toEqual({ [SERVER]: { b: 2 } })
})

test.each([
  ['a list', { [SESSION]: ['x'] }],
  ['a text', { [SERVER]: 'x' }],
  ['a number', { [SERVER]: 7 }],
  ['10 MB', { [SERVER]: { big: 'x'.repeat(10_000_000) } }],
])('a state that is %s is refused and told, and the result arrives', async (_, meta) => {
  const { above, news, list, sets } = layered()
  await sets(1, meta, { content: [] })
  expect(above.heard).toMatchObject([{ id: 1, result: { content: [] } }])
  expect(news).toMatchObject([{ kind: 'refused' }])
  expect(await list(2)).toBeUndefined()
})

test('a store that fails is reported, and breaks no call', async () => {
  const broken = {
    ...memoryJar(),
    read: () => Promise.reject(new Error('disk')),
    write: () => Promise.reject(new Error('disk')),
  }
  const { above, list, sets } = layered(broken)
  expect(await list(1)).toBeUndefined()
  await sets(1, { [SERVER]: { a: 1 } })
  expect(above.heard).toHaveLength(1)
  expect(above.faults).toMatchObject([{ code: 'JAR_UNAVAILABLE' }, { code: 'JAR_UNAVAILABLE' }])
})

describe('with a slow store', () => {
  const slow = (): JarStore => {
    const store = memoryJar()
    const wait = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
    return Object.assign(Object.create(store) as JarStore, {
      read: async (who: typeof owner) => (await wait(), store.read(who)),
      write: async (who: typeof owner, change: object) => (await wait(), store.write(who, change)),
    })
  }

  test('messages keep their order in both directions', async () => {
    const { wire, above } = layered(slow())
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    await Promise.all(numbers.map((id) => above.send(id % 3 === 0 ? { method: `n${id}` } : { id, method: 'x' })))
    expect(wire.sent.map(({ id, method }) => id ?? Number(method?.slice(1)))).toEqual(numbers)
    for (const id of numbers) {
      wire.say(
        id % 3 === 0 ? { method: `n${id}` } : { id, result: id % 2 ? {} : { _meta: { [SESSION]: { [id]: id } } } },
      )
    }
    await vi.waitFor(() => expect(above.heard).toHaveLength(numbers.length))
    expect(above.heard.map(({ id, method }) => id ?? Number(method?.slice(1)))).toEqual(numbers)
  })

  test('whoever sees a result sends what it set', async () => {
    const { wire, above } = layered(slow())
    const next: Promise<void>[] = []
    above.transport.onmessage = () => void next.push(above.send({ id: 2, method: 'x' }))
    wire.say({ id: 1, result: { _meta: { [SESSION]: { fresh: true } } } })
    await vi.waitFor(() => expect(next).toHaveLength(1))
    await Promise.all(next)
    expect(wire.sent[0]?.params?.['_meta']).toEqual({ [SESSION]: { fresh: true } })
  })
})

test('a result that sets state says that it must not be kept, and another is left as it is', async () => {
  const { wire, above, sets } = layered()
  const result = { tools: [], ttlMs: 60_000, cacheScope: 'public' }
  wire.say({ id: 1, result })
  await sets(2, { [SERVER]: { a: 1 } }, result)
  expect(above.heard[0].result).toBe(result)
  expect(above.heard[1].result).toMatchObject({ tools: [], ttlMs: 0 })
})
