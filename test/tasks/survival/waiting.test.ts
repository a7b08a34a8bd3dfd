/** Thousands of tasks that wait for an answer. */
import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type Instance, startInstance } from '../../../examples/work-items/fleet.ts'
import { root } from '../../../scripts/repository.ts'
import { amount } from '../../amount.ts'
import { proves } from '../../proves.ts'
import { accept, TaskCaller } from '../../fixtures/modernClient.ts'
import type { Order } from '../programs/waitingRoom.ts'
import { doubleTasks } from './fixtures/doubleTasks.ts'
import { forEachEngine, LIMIT_MS } from './fixtures/engines.ts'
import { START_MS } from './fixtures/fleet.ts'
import type { StoreLocation } from './fixtures/stores.ts'
import { Scene } from './fixtures/scene.ts'

const program = join(root, 'test/tasks/programs/waitingRoom.ts')
const MB = 1024 * 1024
/** How many tasks there are before memory is measured. There will be forty times as many. */
const BEFORE = amount(100, 250)
/** How much each of them holds, so that all of them hold 40 MB. */
const LETTER_BYTES = (40 * 1_000_000) / (40 * BEFORE)

class Room {
  readonly url: string
  readonly #child: Instance['child']
  readonly #exited: Instance['exited']
  readonly #errors: Instance['errors']

  static async open(scene: Scene, name: string, place: StoreLocation): Promise<Room> {
    const instance = await startInstance({
      name,
      program,
      env: { ROOM: JSON.stringify(place), LETTER_BYTES: `${LETTER_BYTES}` },
      startMs: START_MS,
    })
    scene.later(() => instance.end('SIGKILL'))
    return new Room(instance)
  }

  private constructor({ url, child, exited, errors }: Instance) {
    this.url = url
    this.#child = child
    this.#exited = exited
    this.#errors = errors
  }

  /** Gives the id of one of them, when all of them wait. */
  async make(count: number): Promise<string> {
    return (await this.#order({ make: count })) as string
  }

  async measure(): Promise<NodeJS.MemoryUsage> {
    return (await this.#order({ measure: true })) as NodeJS.MemoryUsage
  }

  async #order(order: Order): Promise<unknown> {
    const answered = once(this.#child, 'message')
    this.#child.send(order)
    const ended = this.#exited.then(({ code }) => Promise.reject(new Error(`It ended with ${code}: ${this.#errors()}`)))
    return (await Promise.race([answered, ended]))[0]
  }
}

forEachEngine((engine) => {
  proves(
    'MRTR-47',
    'wait in their store and nowhere else: thousands of them cost a server no memory',
    async (test) => {
      const scene = new Scene(test)
      const place = await engine.newStore(scene)
      const maker = await Room.open(scene, 'maker', place)
      const empty = await maker.measure()
      await maker.make(BEFORE)
      const warm = await maker.measure()
      const id = await maker.make(4 * BEFORE)
      const made = await maker.measure()
      // What was made as usual is copied where it lies.
      const waiting = [await doubleTasks(place), await doubleTasks(place), await doubleTasks(place)]
      expect(waiting).toEqual([10 * BEFORE, 20 * BEFORE, 40 * BEFORE])
      const other = await Room.open(scene, 'other', place)
      const full = await other.measure()

      // One that has all of them in its store, and one that has run them until they asked. Keeping them would take
      // 40 and 4 MB.
      expect(full.heapUsed - empty.heapUsed).toBeLessThan(4 * MB)
      expect(full.rss - empty.rss).toBeLessThan(32 * MB)
      expect(made.heapUsed + made.external - warm.heapUsed - warm.external).toBeLessThan(3 * MB)

      const client = new TaskCaller(other.url)
      await client.update(id, { name: accept({ name: 'Ann' }) })
      expect((await client.until(id)).result.content[0].text).toBe('Here you are, Ann.')
    },
    LIMIT_MS,
  )
})
