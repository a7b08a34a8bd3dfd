/** The instances of one test, over one store. */
import { join } from 'node:path'
import { newKey } from 'pannier/state'
import type { TaskEngine } from 'pannier/tasks'
import { type Exit, type Instance, startInstance } from '../../../examples/work-items/fleet.ts'
import { root } from '../../../scripts/repository.ts'
import type { WorkshopOptions } from '../programs/workshop.ts'
import { Effects } from './effects.ts'
import { engineAt, type Place } from './places.ts'
import type { Scene } from './scene.ts'

const program = join(root, 'test/tasks/programs/workshop.ts')
// Many start at the same time, and their machine may be busy otherwise.
export const START_MS = 60_000
const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** What an instance tells before something goes wrong in it. */
interface Said {
  readonly trouble?: string
}

export type Settings = Omit<WorkshopOptions, 'place' | 'folder'>

export class Fleet {
  readonly effects: Effects
  readonly #scene: Scene
  readonly #options: WorkshopOptions
  readonly #keys = newKey()
  readonly #up = new Map<string, Instance>()
  readonly #frozen = new Set<string>()
  readonly #starting = new Set<Promise<Instance>>()

  /** Without instances. */
  constructor(scene: Scene, place: Place, settings: Settings = {}) {
    this.effects = new Effects(scene.folder)
    this.#scene = scene
    this.#options = { place, folder: scene.folder, ...settings }
    scene.later(() => this.#killAll())
  }

  /** Where instances listen that are up and awake. */
  readonly urls = (): readonly string[] => {
    return [...this.#up.values()].filter(({ name }) => !this.#frozen.has(name)).map(({ url }) => url)
  }

  /** Names of those that have frozen, the first first. */
  get frozen(): readonly string[] {
    return [...this.#frozen]
  }

  get names(): readonly string[] {
    return [...this.#up.keys()]
  }

  get(name: string): Instance {
    const instance = this.#up.get(name)
    if (instance === undefined) throw new Error(`"${name}" is not up.`)
    return instance
  }

  async start(name: string, settings: Settings = {}, env: Readonly<Record<string, string>> = {}): Promise<Instance> {
    this.#scene.signal.throwIfAborted()
    const WORKSHOP = JSON.stringify({ ...this.#options, ...settings } satisfies WorkshopOptions)
    const common = { PANNIER_KEYS: this.#keys, WORKSHOP }
    const starting = startInstance({ name, program, env: { ...common, ...env }, startMs: START_MS })
    this.#starting.add(starting)
    const instance = await starting.finally(() => this.#starting.delete(starting))
    this.#up.set(name, instance)
    instance.child.on('message', ({ trouble }: Said) => trouble?.startsWith('frozen') && this.#frozen.add(name))
    void instance.exited.then(() => this.#forget(name, instance))
    return instance
  }

  /** Resolves when the process is gone; nobody is sent to it from now on. */
  kill(name: string): Promise<Exit> {
    const instance = this.get(name)
    this.#forget(name, instance)
    return instance.end('SIGKILL')
  }

  /** One that had two reasons to freeze is then frozen again. */
  wake(name: string): void {
    this.#frozen.delete(name)
    this.get(name).child.kill('SIGCONT')
  }

  /** An engine over the same tasks, in this process. */
  async engine(): Promise<TaskEngine> {
    const engine = engineAt(this.#options.place)
    await engine.open({ audience: 'workshop', logger: () => silent })
    this.#scene.later(() => engine.close())
    return engine
  }

  async #killAll(): Promise<void> {
    await Promise.allSettled(this.#starting)
    await Promise.all(this.names.map((name) => this.kill(name)))
  }

  #forget(name: string, instance: Instance): void {
    if (this.#up.get(name) !== instance) return
    this.#up.delete(name)
    this.#frozen.delete(name)
  }
}
