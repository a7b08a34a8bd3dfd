import { describe, expect, test } from 'vitest'
import { settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { form, Script, task } from '../../../test/client/fixtures/scriptedServer.ts'
import { compose } from '../layer/layer.ts'
import { rounds } from '../rounds/layer.ts'
import { tasks } from '../tasks/layer.ts'
import type { Answerers, Asked } from './answerer.ts'

const never = () => new Promise<never>(() => undefined)

describe('rounds and tasks of one connection', () => {
  /** A call that is a task in a session, and one that is not; the server may push questions for either. */
  async function bothCalls(answerers: Answerers): Promise<Script> {
    const script = new Script(compose(rounds({ answerers }), tasks({ answerers: { ...answerers } })), {
      initialize: () => ({
        serverInfo: { name: 'shop', version: '1' },
        capabilities: { tasks: { requests: { tools: { call: {} } } } },
      }),
      'tools/list': () => ({ tools: [{ name: 'job', execution: { taskSupport: 'required' } }] }),
      'tools/call': ({ name }) => (name === 'job' ? { task: task('working') } : undefined),
      'tasks/get': () => task('working'),
    })
    await script.above.send({ id: 1, method: 'initialize', params: { capabilities: {} } })
    await settled()
    await script.call(2)
    await script.call(3, { name: 'talk' })
    await settled()
    return script
  }

  const related = { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't1' } } }
  const ofTask = (id: string) => ({ id, ...form(), params: { ...form().params, ...related } })

  test('have one limit for the questions that are open at once', async () => {
    const script = await bothCalls({ form: never })
    for (let n = 0; n < 60; n++) script.say(ofTask(`t${n}`))
    for (let n = 0; n < 60; n++) script.say({ id: `r${n}`, ...form() })
    await settled()
    const refused = script.wire.sent.filter(({ error }) => error !== undefined).map(({ id }) => id)
    expect(refused).toEqual(Array.from({ length: 20 }, (_, n) => `r${n + 40}`))
  })

  test('tell their answerers the same about the server', async () => {
    const asked: Asked[] = []
    const script = await bothCalls({ form: (question) => (asked.push(question), never()) })
    script.say(ofTask('t'))
    script.say({ id: 'r', ...form() })
    await settled()
    expect(asked.map(({ key, server }) => [key, server.name])).toEqual([
      ['t', 'shop'],
      ['r', 'shop'],
    ])
  })
})
