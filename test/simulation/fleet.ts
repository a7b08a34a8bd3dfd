/** The processes of a run, the balancer before them, and what happens to them. */
import type { Random } from '../fuzz/random.ts'
import type { Network } from './network.ts'
import type { Fault } from './plan.ts'
import { type ProcessOptions, SimulatedProcess } from './process.ts'
import { Host, type World } from './world.ts'

export interface FleetOptions extends Omit<ProcessOptions, 'name' | 'url' | 'peers' | 'onVacated'> {
  readonly count: number
  readonly chance: Random
}

/** A balancer sends nothing to a process that has announced its stop for this long. */
const BALANCER_LEARNS_MS = 1000
/** A process that is killed at a request has had it for this long at most. */
const HELD_WITHIN_MS = 10

export class Fleet {
  /** Whether a process was killed or frozen so far. */
  isDisturbed = false
  /** Whether the process that keeps the claims of all was killed or frozen. */
  hasKeeperFailed = false
  readonly #options: FleetOptions
  readonly #world: World
  readonly #network: Network
  readonly #fate = new Host('fate')
  readonly #slots: SimulatedProcess[] = []
  readonly #all = new Map<string, SimulatedProcess>()
  readonly #withdrawn = new Set<SimulatedProcess>()
  /** Kills that wait for a request of a client. */
  readonly #awaited: Fault[] = []
  #generation = 0
  #turn = 0

  constructor(options: FleetOptions) {
    this.#options = options
    this.#world = options.world
    this.#network = options.network
    for (let slot = 0; slot < options.count; slot++) this.#start(slot)
    options.network.onArrival = (from, to) => this.#arrived(from, to)
  }

  get processes(): readonly SimulatedProcess[] {
    return this.#slots
  }

  /** Whether a process was killed, or another one found it to be gone. */
  wasGone(name: string): boolean {
    const process = this.#all.get(name)
    return process?.wasKilled === true || process?.isDoubted === true
  }

  isThere(name: string): boolean {
    return this.#all.get(name)?.isThere === true
  }

  /** The balancer: one process after the other, as far as it knows them. */
  readonly balance = (): string => {
    const known = this.#slots.filter((process) => process.isThere && process.isReady && !this.#withdrawn.has(process))
    const among = known.length > 0 ? known : this.#slots
    return (among[this.#turn++ % among.length] as SimulatedProcess).url
  }

  suffer(fault: Fault): void {
    const isAtRequest = fault.kind === 'kill' && fault.isAtRequest
    this.#world.schedule(this.#fate, fault.at, () => (isAtRequest ? this.#awaited.push(fault) : this.#strike(fault)))
  }

  #arrived(from: Host, to: Host): void {
    const fault = this.#all.has(from.name) || !this.#all.has(to.name) ? undefined : this.#awaited.shift()
    if (fault === undefined) return
    const afterMs = this.#options.chance.next() * HELD_WITHIN_MS
    this.#world.schedule(this.#fate, afterMs, () => this.#strike(fault, this.#all.get(to.name)))
  }

  #strike(fault: Fault, meant?: SimulatedProcess): void {
    const standing = this.#slots.filter(({ host, isStopping }) => host.state === 'running' && !isStopping)
    // A stop needs somebody to hand off to.
    if (standing.length < (fault.kind === 'stop' ? 2 : 1)) return
    const index = this.#slots.indexOf(
      meant !== undefined && standing.includes(meant) ? meant : this.#victimOf(standing),
    )
    const victim = this.#slots[index] as SimulatedProcess
    this.#world.note(() => `${fault.kind} ${victim.host.name}`)
    if (fault.kind === 'stop') return this.#stop(index, victim, fault)
    this.isDisturbed = true
    this.hasKeeperFailed ||= standing.every(({ id }) => id >= victim.id)
    if (fault.kind === 'freeze') {
      this.#world.freeze(victim.host)
      this.#world.schedule(this.#fate, fault.forMs, () => this.#world.thaw(victim.host))
      return
    }
    victim.kill()
    this.#world.schedule(this.#fate, fault.backAfterMs, () => this.#start(index))
  }

  /** Processes with requests are hit most. */
  #victimOf(standing: readonly SimulatedProcess[]): SimulatedProcess {
    const { chance } = this.#options
    const busy = standing.filter(({ host }) => this.#network.openAt(host) > 0)
    return chance.pick(busy.length > 0 && chance.chance(0.8) ? busy : standing)
  }

  #stop(slot: number, victim: SimulatedProcess, { deadlineMs, backAfterMs }: Fault & { kind: 'stop' }): void {
    this.#world.schedule(this.#fate, BALANCER_LEARNS_MS, () => this.#withdrawn.add(victim))
    victim.stop(deadlineMs, () => this.#world.schedule(this.#fate, backAfterMs, () => this.#start(slot)))
  }

  #start(slot: number): void {
    const name = `p${slot}.${this.#generation++}`
    const urls = Array.from({ length: this.#options.count }, (_, index) => `http://p${index}.test/mcp`)
    const url = urls[slot] as string
    // Each looks at three others; these name theirs.
    const peers = [1, 2, 3].map((step) => urls[(slot + step) % urls.length] as string).filter((peer) => peer !== url)
    const onVacated = (vacated: string): void => {
      for (const each of this.#slots)
        if (each.url === vacated && each.isThere && !each.isStopping) each.isDoubted = true
    }
    const process = new SimulatedProcess({ ...this.#options, name, url, peers: [...new Set(peers)], onVacated })
    this.#slots[slot] = process
    this.#all.set(name, process)
  }
}
