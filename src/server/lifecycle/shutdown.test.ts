/** The steps of a stop, each of which takes a moment here. */
import { expect, test } from 'vitest'
import type { ServerParts } from '../assemble.ts'
import { Load } from './load.ts'
import { Shutdown } from './shutdown.ts'

/** Parts of a server that only note what is done with them. */
function begin() {
  const log: string[] = []
  const step = (name: string) => async () => {
    await new Promise((resolve) => setImmediate(resolve))
    log.push(name)
  }
  const note = (name: string) => () => void log.push(name)
  const load = new Load()
  const assembly = {
    load,
    subscriptions: { close: note('subscriptions closed') },
    sessions: { getStreams: { closeAll: note('streams closed') }, pushes: { drain: step('calls left') } },
    legacyHttp: { handOffUnseen: step('unseen handed over'), idle: async () => {} },
    clusterPart: { cluster: { announceStop: step('told'), leave: step('left') } },
    tasks: { drain: step('tasks drained'), close: step('tasks closed') },
    logger: { current: { info: (_: object, text: string) => void log.push(text) } },
  }
  const shutdown = new Shutdown(assembly as unknown as ServerParts)
  const connections = { announceClose: note('close announced'), close: step('connections closed') }
  shutdown.addListener(connections)
  return { shutdown, log }
}

test('a stop tells the others, lets calls leave, closes connections, and leaves at last', async () => {
  const { shutdown, log } = begin()
  await shutdown.drain({ deadlineMs: 2000 })
  const order = ['Draining.', 'told', 'close announced', 'connections closed', 'left', 'tasks closed', 'Drained.']
  expect(log.filter((name) => order.includes(name))).toEqual(order)
  for (const early of ['subscriptions closed', 'streams closed', 'calls left', 'tasks drained', 'unseen handed over']) {
    expect([early, log.includes(early) && log.indexOf(early) < log.indexOf('left')]).toEqual([early, true])
  }
})

test('a stop happens once, however often it is asked for', async () => {
  const { shutdown, log } = begin()
  await Promise.all([shutdown.drain({ deadlineMs: 2000 }), shutdown.drain()])
  expect(log.filter((name) => name === 'left')).toHaveLength(1)
})
