/** All layers at once under each official client, over each transport and in each era, against our server. */
import { memoryJar } from 'pannier/state'
import { type Answerers, type Asked, compose, echo, jar, type Layer, type Refused, rounds, scope } from 'pannier/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Instance } from '../../interop/fixtures/instances.ts'
import { proves } from '../../proves.ts'
import type { Loose } from '../fixtures/fakeTransport.ts'
import { accept, type AnyClient, callTool, startLayersServer, text, ways } from '../fixtures/clients.ts'

let instance: Instance

beforeAll(async () => {
  instance = await startLayersServer()
})
afterAll(() => instance.close())

test.each([['rounds scope echo'], ['scope rounds echo'], ['scope echo rounds'], ['echo rounds scope']])(
  'the layers work in the order %s',
  async (order) => {
    const all: Record<string, Layer> = {
      rounds: rounds({ answerers: { form: () => accept({ name: 'Ann' }) } }),
      scope: scope(),
      echo: echo(),
    }
    for (const { connect } of ways.filter(({ name }) => name.includes('HTTP'))) {
      const kept = jar(memoryJar(), { server: 'layers.example', principal: 'ann', context: order })
      const client = await connect(instance.url, compose(...order.split(' ').map((name) => all[name]!), kept))
      expect(await callTool(client, 'greet')).toMatchObject(text('Hello Ann'))
      await callTool(client, 'visits')
      expect(await callTool(client, 'visits')).toMatchObject(text('visit 2'))
      await client.close()
    }
  },
)

describe.each(ways)('$name', ({ connect, era, name }) => {
  const asked: Asked[] = []
  const refused: Refused[] = []
  const faults: Error[] = []
  const store = memoryJar()
  let answer: (asked: Asked) => object
  let client: AnyClient

  const answerers: Answerers = {
    form: (question) => (asked.push(question), answer(question) as never),
    url: () => ({ action: 'accept' }),
    sampling: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'in short' } }),
    roots: () => ({ roots: [{ uri: 'file:///work' }] }),
  }
  const owner = { server: 'layers.example', principal: 'ann', context: name }
  const layer = compose(
    rounds({ answerers, server: { target: 'the target' } }),
    scope({ onRefused: (each) => void refused.push(each) }),
    jar(store, owner),
    echo(),
  )
  const call = (tool: string, args = {}, options = {}) => callTool(client, tool, args, options)

  beforeAll(async () => {
    client = await connect(instance.url, layer)
    client.onerror = (error: Error) => void faults.push(error)
  })
  afterAll(async () => {
    delete client.onerror
    await client.close()
    expect(refused).toEqual([])
    expect(faults).toEqual([])
  })

  test('the client is connected, and knows the server', async () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'layers', version: '1.0.0' })
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain('greet')
    expect(await call('echo', { text: 'hi' })).toMatchObject(text('hi'))
    expect(await call('add', { a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } })
    expect(await call('query', { region: ' Zürich ' })).toMatchObject(text('from  Zürich '))
    await expect(call('nothing')).rejects.toMatchObject({ code: -32602 })
  })

  proves('MRTR-23 MRTR-25', 'tools, prompts and resources ask, and get their answers', async () => {
    answer = () => accept({ name: 'Ann' })
    asked.length = 0
    expect(await call('greet')).toMatchObject(text('Hello Ann'))
    expect(await call('greet_two')).toMatchObject(text('Hello Ann and Ann'))
    expect(await client.getPrompt({ name: 'letter' })).toMatchObject({
      messages: [{ content: { text: 'Write to Ann.' } }],
    })
    expect(await client.readResource({ uri: 'docs://diary' })).toMatchObject({
      contents: [{ text: 'The diary of Ann.' }],
    })
    expect(asked.map(({ key, call: about }) => `${key} of ${about?.name}`)).toEqual([
      'name of greet',
      'first of greet_two',
      'second of greet_two',
      'name of letter',
      'name of docs://diary',
    ])
    for (const { server } of asked) expect(server).toEqual({ name: 'layers', target: 'the target' })
  })

  test('the two rounds of the work-item flow, a model, folders and a page', async () => {
    answer = ({ key }) => accept(key === 'resolution' ? { resolution: 'Duplicate' } : { duplicateOfId: 4301 })
    const done = await call('update_work_item', { workItemId: 4522, fields: {} })
    expect(done.content).toMatchObject([{ text: expect.stringContaining('Duplicate of Bug #4301') }])
    expect(await call('sum_up')).toMatchObject({ content: [{ text: expect.stringContaining('in short') }] })
    expect(await call('folders')).toMatchObject(text('file:///work'))
    expect(await call('sign_in')).toMatchObject(text('signed in'))
  })

  test('a decline is an answer, and a wrong one is asked again', async () => {
    answer = () => ({ action: 'decline' })
    expect(await call('greet')).toMatchObject({ isError: true, ...text('The question "name" was declined.') })
    const answers = [{ name: 7 }, { name: 'Ann' }]
    answer = () => accept(answers.shift()!)
    expect(await call('greet')).toMatchObject(text('Hello Ann'))
  })

  test('progress of a later round reaches the caller', async () => {
    answer = () => accept({ name: 'Ann' })
    const heard: Loose[] = []
    const onprogress = (progress: object): void => {
      if (heard.push(progress) === 3) void call('heard_count')
    }
    expect(await call('ask_then_count', {}, { onprogress })).toMatchObject(text('counted for Ann'))
    expect(heard.map(({ progress, message }) => [progress, message])).toEqual([1, 2, 3].map((at) => [at, `Ann ${at}`]))
  })

  test('cancelling reaches the round that is under way', async () => {
    answer = () => accept({ name: 'Ann' })
    const abort = new AbortController()
    const held = call('ask_then_hold', {}, { signal: abort.signal })
    held.catch(() => undefined)
    await call('hold_begun')
    abort.abort('enough')
    await expect(held).rejects.toThrow()
    expect(await call('hold_ended')).toMatchObject(text('ended'))
  })

  test('cancelling while somebody is asked takes the question back', async () => {
    const abort = new AbortController()
    const signal = await new Promise<AbortSignal>((resolve) => {
      answer = (question) => {
        resolve(question.signal)
        return new Promise(() => undefined)
      }
      call('greet', {}, { signal: abort.signal }).catch(() => undefined)
    })
    expect(signal.aborted).toBe(false)
    abort.abort('enough')
    await expect.poll(() => signal.aborted).toBe(true)
  })

  proves('CS-8', 'the server finds again what it had this client keep, also from an interim result', async () => {
    answer = () => accept({ colour: 'blue' })
    expect(await call('visits')).toMatchObject(text('visit 1'))
    expect(await call('visits')).toMatchObject(text('visit 2'))
    expect(await call('ask_with_state')).toMatchObject(text('You like blue.'))
    expect(await call('recall', { scope: 'session', name: 'asked' })).toMatchObject(text('true'))
    expect(await call('recall', { scope: 'server', name: 'colour' })).toMatchObject(text('"blue"'))
    await call('forget', { scope: 'server', name: 'colour' })
    expect(await call('recall', { scope: 'server', name: 'colour' })).toMatchObject(text('nothing'))
    await store.clear({})
    expect(await call('visits')).toMatchObject(text('visit 1'))
  })

  test('the era is the one that was meant', () => {
    if (client.getProtocolEra !== undefined) expect(client.getProtocolEra()).toBe(era)
  })
})
