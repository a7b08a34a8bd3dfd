/**
 * A server whose tasks ask something and wait. It makes as many as its parent says, tells when all of them wait, and how
 * much memory it needs. `ROOM` says where the tasks are, as JSON, and `LETTER_BYTES` how much each of them holds.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createServer } from 'pannier/server'
import { createTasks, type WorkOptions } from 'pannier/tasks'
import { z } from 'zod'
import { newJournal } from '../../../src/journal/index.ts'
import { VERSION } from '../../fixtures/modernClient.ts'
import { engineAt, type StoreLocation } from '../survival/fixtures/stores.ts'

/** What the parent says. */
export type Order = { readonly make: number } | { readonly measure: true }

// So much that keeping them would show.
const args = { letter: 'x'.repeat(Number(process.env['LETTER_BYTES'])) }
const caller = { peer: { era: 'modern', version: VERSION, capabilities: { elicitation: {} } }, meta: {} }
const AT_ONCE = 50

const engine = engineAt(JSON.parse(process.env['ROOM'] ?? '{}') as StoreLocation)
const work = engine.work.bind(engine)
let onRun = (): void => {}
engine.work = ({ run, ...options }: WorkOptions) =>
  work({ ...options, run: (lease) => run(lease).finally(() => onRun()) })

const server = createServer({ name: 'waiting room', version: '1.0.0', tasks: createTasks(engine) })
const input = z.object({ letter: z.string() })
server.tool('wait', { description: 'Waits for a name.', input, task: 'required' }, async (_, ctx) => {
  const { name } = await ctx.ask('name', { message: 'Your name?', schema: z.object({ name: z.string() }) })
  return `Here you are, ${name}.`
})

/** Gives the id of one of them, when all of them wait. */
async function make(count: number): Promise<string> {
  let [left, id] = [count, '']
  const allWait = new Promise<void>((resolve) => {
    onRun = () => void (--left === 0 && resolve())
  })
  const numbers = Array(count).keys()
  const maker = async () => {
    for (const _ of numbers) {
      id = randomUUID()
      await engine.create({
        id,
        owner: '',
        holder: id,
        tool: 'wait',
        args,
        caller,
        journal: newJournal(id),
        ttlMs: null,
      })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, maker))
  await allWait
  return id
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What is needed when nothing is left to be thrown away. */
async function measure(): Promise<NodeJS.MemoryUsage> {
  for (let turn = 0; turn < 5; turn++) {
    collect()
    await sleep(50)
  }
  return process.memoryUsage()
}

process.on('disconnect', () => process.exit())
process.on('message', (order: Order) => {
  const done = 'make' in order ? make(order.make) : measure()
  void done.then((said) => process.send?.(said))
})
const { url } = await server.listen()
process.send?.({ url })
