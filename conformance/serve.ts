/**
 * One process of the fixture: `node --conditions=pannier-source conformance/serve.ts [port]`. Started by run.ts it has
 * a channel to it, by which it tells its address, hears what its siblings publish, and ends when run.ts is gone.
 */
import { type EventBus, localBus, type ServerEvent } from 'pannier/server'
import { createFixture } from './fixture/fixture.ts'
import { tasksAt } from './fixture/taskPlace.ts'

const parent = process.send?.bind(process)
const hasBus = parent !== undefined && process.env['PANNIER_CONFORMANCE_BUS'] !== 'none'
const bus = hasBus ? siblingBus(parent) : undefined
const fixture = createFixture(bus, tasksAt(process.env['PANNIER_TASKS']))
const { url } = await fixture.listen({ port: Number(process.argv[2] ?? 0) })
parent?.({ kind: 'listening', url })
process.once('disconnect', () => process.exit(0))

/** Our own subscribers hear at once; run.ts tells the siblings. */
function siblingBus(tell: (event: ServerEvent) => void): EventBus {
  const local = localBus()
  process.on('message', (event) => local.publish(event as ServerEvent))
  return {
    subscribe: local.subscribe,
    publish: (event) => {
      local.publish(event)
      tell(event)
    },
  }
}
