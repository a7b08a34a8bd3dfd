/** A ledger and a store that all processes share, in place of PostgreSQL: each statement takes its way there and back. */
import { type CarryStore, type Ledger, memoryCarryStore, memoryLedger } from '../../src/state/stores/index.ts'
import type { Random } from '../fuzz/random.ts'
import { Host, type World } from './world.ts'

export class Database {
  readonly ledger: Ledger
  readonly store: CarryStore
  readonly #world: World
  readonly #random: Random
  readonly #host = new Host('database')

  constructor(world: World, random: Random) {
    this.#world = world
    this.#random = random
    const ledger = memoryLedger()
    const store = memoryCarryStore()
    this.ledger = {
      claim: (...args) => this.#query('claim', args[0], () => ledger.claim(...args)),
      settle: (...args) => this.#query('settle', args[0], () => ledger.settle(...args)),
      release: (...args) => this.#query('release', args[0], () => ledger.release(...args)),
    }
    this.store = {
      put: (...args) => this.#query('put', args[0], () => store.put(...args)),
      get: (...args) => this.#query('get', args[0], () => store.get(...args)),
      delete: (...args) => this.#query('delete', args[0], () => store.delete(...args)),
    }
  }

  /** A process that dies meanwhile has its statement executed, and never learns so. */
  #query<T>(verb: string, key: string, statement: () => Promise<T>): Promise<T> {
    const from = this.#world.current
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#world.schedule(this.#host, this.#wayMs(), () => {
      this.#world.note(() => `${from?.name} -> database  ${verb} ${key}`)
      const reply = (run: () => void): void => {
        if (from !== undefined) this.#world.schedule(from, this.#wayMs(), run)
      }
      statement().then(
        (value) => reply(() => resolve(value)),
        (error: unknown) => reply(() => reject(error)),
      )
    })
    return promise
  }

  #wayMs(): number {
    return 0.2 + this.#random.next() * (this.#random.chance(0.05) ? 200 : 3)
  }
}
