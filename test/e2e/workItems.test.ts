/**
 * The flow of SEP-2322 through real processes, which run examples/work-items/server.ts (inline style) or
 * examples/work-items/explicit.ts, both under the rules in examples/work-items/rules.ts.
 */
import { join } from 'node:path'
import { createKeyring, createSealer, digestOf } from 'pannier/state'
import { beforeAll, describe, expect, test } from 'vitest'
import { type AnswerMessage, headersOf, post, servedBy, withEnvelope } from '../../examples/work-items/wire.ts'
import { addBugs, WorkItems } from '../../examples/work-items/workItems.ts'
import { proves } from '../proves.ts'
import { type Instance, keys, useInstances } from './fixtures/instances.ts'
import { carrying, comparable, sep } from './fixtures/sep2322.ts'

const { folder, startAll } = useInstances()

const program = 'examples/work-items/instance.ts'
const flow = sep.workItems

describe.each(['inline', 'explicit'])('the work-item flow in %s style', (style) => {
  let items: WorkItems
  let a: Instance
  let b: Instance
  let c: Instance

  beforeAll(async () => {
    const path = join(folder, `${style}.db`)
    items = new WorkItems(path, 'test')
    addBugs(items)
    ;[a, b, c] = await startAll(['A', 'B', 'C'], program, { WORK_ITEMS: path, STYLE: style })
  })

  /** Plays the rounds of the SEP, each on the next of these instances. */
  async function play(instances: readonly Instance[]): Promise<AnswerMessage[]> {
    const answers: AnswerMessage[] = []
    for (const [index, instance] of instances.entries()) {
      const { request } = flow[index]!
      answers.push(await post(instance.url, carrying(request, answers.at(-1))))
    }
    return answers
  }

  /** A call of the tool that the SEP does not show. */
  function call(url: string, more: object = {}, workItemId = 4522, fields: object = { 'System.State': 'Resolved' }) {
    const params = { name: 'update_work_item', arguments: { workItemId, fields }, ...more }
    return post(url, { jsonrpc: '2.0', id: 9, method: 'tools/call', params })
  }

  function notes(): number {
    return items.find(4522)!.history.length
  }

  proves(
    'MRTR-1 MRTR-2 MRTR-3 MRTR-4 MRTR-5 MRTR-10 ST-21',
    'message by message it is what SEP-2322 prints, with each round on another process',
    async () => {
      const before = notes()
      const answers = await play([a, b, c])
      expect(answers.map(comparable)).toEqual(flow.map(({ answer }) => comparable(answer)))
      expect(answers.map(servedBy)).toEqual(['A', 'B', 'C'])
      expect(items.find(4522)).toMatchObject({
        fields: { 'System.State': 'Resolved', 'Microsoft.VSTS.Common.ResolvedReason': 'Duplicate' },
        duplicateOf: 4301,
      })
      expect(items.find(4522)!.history.slice(before)).toEqual([{ text: 'Resolution chosen: Duplicate', author: 'B' }])
    },
  )

  proves('ST-21 MRTR-9', 'its rounds may go to the instances in any order, and to one instance twice', async () => {
    for (const order of [
      [c, a, b],
      [b, b, a],
      [a, c, c],
    ]) {
      const answers = await play(order)
      expect(answers.map(comparable)).toEqual(flow.map(({ answer }) => comparable(answer)))
      expect(answers.map(servedBy)).toEqual(order.map(({ name }) => name))
    }
  })

  proves('MRTR-9', 'a round sent to every instance at once is the same to each of them', async () => {
    const [, asked] = await play([a, b])
    const last = carrying(flow[2]!.request, asked)
    const answers = await Promise.all([a, b, c].map(({ url }) => post(url, last)))
    for (const answer of answers) expect(comparable(answer)).toEqual(flow[2]!.answer)
  })

  proves(
    'MRTR-8',
    'the answer that asks ends its request: it is one whole JSON message and nothing follows',
    async () => {
      const request = withEnvelope(flow[0]!.request)
      const response = await fetch(a.url, {
        method: 'POST',
        headers: headersOf(request),
        body: JSON.stringify(request),
      })
      expect(response.headers.get('content-type')).toBe('application/json')
      expect(comparable((await response.json()) as AnswerMessage)).toEqual(flow[0]!.answer)
    },
  )

  proves(
    'ST-20',
    'the state carries what the rounds gathered and not the arguments, however long they are',
    async () => {
      const fields = { 'System.State': 'Resolved', 'System.Description': 'x'.repeat(20_000) }
      const answered = { inputResponses: { resolution: { action: 'accept', content: { resolution: 'Duplicate' } } } }
      const [short, long] = await Promise.all([call(a.url, answered), call(b.url, answered, 4522, fields)])
      expect(long.result!.requestState!.length).toBe(short.result!.requestState!.length)

      const args = { workItemId: 4522, fields }
      const sealer = createSealer({ keyring: createKeyring(keys), audience: 'work-items' })
      const binding = { method: 'tools/call', name: 'update_work_item', argumentsDigest: digestOf(args) }
      const carried = JSON.stringify(sealer.open('request', binding, long.result!.requestState!).body)
      expect(carried).toContain('Duplicate')
      expect(carried).not.toMatch(/System\.|4522|xxx/)
    },
  )

  proves('ST-18', 'a round has one state, beside its requests and in none of them', async () => {
    const [first, second] = await play([a, b])
    expect(first!.result).not.toHaveProperty('requestState')
    expect(second!.result!.requestState).toEqual(expect.any(String))
    expect(JSON.stringify(second!.result!.inputRequests)).not.toContain('State"')
  })

  test('a state does not fit other arguments', async () => {
    const [, asked] = await play([a, b])
    const { requestState } = asked!.result!
    const answer = { duplicate_of: { action: 'accept', content: { duplicateOfId: 4301 } } }
    const moved = await call(c.url, { requestState, inputResponses: answer }, 4301)
    expect(moved.error?.code).toBe(-32602)
  })

  test('a retry without the state it was given starts again, with the first question', async () => {
    const answer = { duplicate_of: { action: 'accept', content: { duplicateOfId: 4301 } } }
    const lost = await call(c.url, { inputResponses: answer })
    expect(Object.keys(lost.result!.inputRequests!)).toEqual(['resolution'])
  })

  test.each([
    ['is no number', { action: 'accept', content: { duplicateOfId: 'four' } }],
    ['names no work item', { action: 'accept', content: { duplicateOfId: 1 } }],
    ['is empty', { action: 'accept', content: {} }],
  ])('an original that %s is asked for again, and the resolution is kept', async (_, bad) => {
    const [, asked] = await play([a, b])
    const before = notes()
    const { requestState } = asked!.result!
    const again = await call(c.url, { requestState, inputResponses: { duplicate_of: bad } })
    expect(Object.keys(again.result!.inputRequests!)).toEqual(['duplicate_of'])
    const good = { duplicate_of: { action: 'accept', content: { duplicateOfId: 4301 } } }
    const done = await call(a.url, { requestState: again.result!.requestState, inputResponses: good })
    expect(done.result!.content).toEqual(flow[2]!.answer.result!.content)
    expect(notes()).toBe(before)
  })

  test.each(['decline', 'cancel'])('a person who answers %s ends the call, and nothing is changed', async (action) => {
    items.set(4522, { 'System.State': 'Active' })
    const refused = await call(b.url, { inputResponses: { resolution: { action } } })
    expect(refused.result).toMatchObject({ resultType: 'complete', isError: true })
    expect(items.find(4522)!.fields['System.State']).toBe('Active')
  })

  test('without a rule that asks there is one round', async () => {
    const fixed = { resolution: { action: 'accept', content: { resolution: 'Fixed' } } }
    const answers = await Promise.all([
      call(a.url, {}, 4522, { 'System.Title': 'Renamed' }),
      call(a.url, {}, 1),
      call(c.url, { inputResponses: fixed }),
    ])
    expect(answers.map(({ result }) => result!.content![0]!.text)).toEqual([
      'Bug #4522 updated.',
      'There is no work item #1.',
      'Bug #4522 resolved as Fixed. State set to Resolved.',
    ])
  })

  proves(
    'ST-21 MRTR-8 MRTR-9',
    'each process that served a round is killed before the next round is sent, and the call completes',
    async () => {
      const answers: AnswerMessage[] = []
      for (const [index, instance] of [a, b, c].entries()) {
        answers.push(await post(instance.url, carrying(flow[index]!.request, answers.at(-1))))
        expect(await instance.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
      }
      expect(answers.map(comparable)).toEqual(flow.map(({ answer }) => comparable(answer)))
    },
  )
})
