/**
 * Virtual time: a queue of events, each of one host, that run one after the other. A host is a process, a client or the database.
 *
 * - While an event runs, its host is the current one: timers and messages that are made meanwhile are its own.
 * - An event is over when nothing is left to run without a timer or a message, so that the next one depends on the queue alone.
 * - A frozen host keeps its events until it thaws; a dead one loses them.
 */
import { Random } from '../fuzz/random.ts'

const { setImmediate: realImmediate } = globalThis

export interface SimulatedEvent {
  readonly host: Host
  readonly at: number
  readonly order: number
  readonly run: () => void
  isCancelled: boolean
}

export class Host {
  readonly name: string
  state: 'running' | 'frozen' | 'dead' = 'running'
  readonly immediates: (() => void)[] = []
  readonly timers = new Set<VirtualTimer>()
  /** The events that came while it was frozen. */
  held: SimulatedEvent[] = []

  constructor(name: string) {
    this.name = name
  }
}

/** A timer of a host, as `setTimeout` gives it. */
export interface VirtualTimer {
  readonly host: Host
  readonly label: string
  readonly delayMs: number
  event: SimulatedEvent | undefined
  ref(): VirtualTimer
  unref(): VirtualTimer
}

export class World {
  readonly random: Random
  now = 0
  current: Host | undefined
  /** Called after each event. */
  onStep: () => void = () => {}
  #steps = 0
  #order = 0
  readonly #queue = new EventHeap()
  readonly #trace: string[] | undefined

  constructor(seed: number, isTraced: boolean) {
    this.random = new Random(seed)
    this.#trace = isTraced ? [] : undefined
  }

  get steps(): number {
    return this.#steps
  }

  get messages(): readonly string[] {
    return this.#trace ?? []
  }

  get isTraced(): boolean {
    return this.#trace !== undefined
  }

  /** Notes a message or a fault for whoever reads the run. */
  note(text: () => string): void {
    this.#trace?.push(`${this.now.toFixed(0).padStart(7)}  ${text()}`)
  }

  /** Runs a function at a host after a time. */
  schedule(host: Host, delayMs: number, run: () => void): SimulatedEvent {
    const event = { host, at: this.now + Math.max(0, delayMs), order: this.#order++, run, isCancelled: false }
    this.#queue.push(event)
    return event
  }

  setTimer(host: Host, run: () => void, delayMs: number, isRepeated: boolean, label: string): VirtualTimer {
    const timer: VirtualTimer = {
      host,
      label,
      delayMs,
      event: undefined,
      ref: () => timer,
      unref: () => timer,
    }
    const fire = (): void => {
      if (isRepeated) timer.event = this.schedule(host, delayMs, fire)
      else host.timers.delete(timer)
      run()
    }
    // Timers of one host fire in a millisecond, never at once.
    timer.event = this.schedule(host, Math.max(1, delayMs), fire)
    host.timers.add(timer)
    return timer
  }

  clearTimer(timer: VirtualTimer): void {
    if (timer.event !== undefined) timer.event.isCancelled = true
    timer.host.timers.delete(timer)
  }

  freeze(host: Host): void {
    if (host.state === 'running') host.state = 'frozen'
  }

  thaw(host: Host): void {
    if (host.state !== 'frozen') return
    host.state = 'running'
    // The same events, because a timer that is due may be cleared by one before it.
    for (const event of host.held.splice(0))
      this.#queue.push(Object.assign(event, { at: this.now, order: this.#order++ }))
  }

  kill(host: Host): void {
    host.state = 'dead'
    host.held = []
    host.immediates.length = 0
    host.timers.clear()
  }

  /** Runs events until `isOver` says so, or the time is over. */
  async run(isOver: () => boolean, untilMs: number): Promise<void> {
    while (!isOver()) {
      const event = this.#queue.pop()
      if (event === undefined) return
      if (event.at > untilMs) {
        this.#queue.push(event)
        this.now = untilMs
        return
      }
      this.now = Math.max(this.now, event.at)
      if (event.isCancelled || event.host.state === 'dead') continue
      if (event.host.state === 'frozen') event.host.held.push(event)
      else await this.#step(event)
    }
  }

  async #step({ host, run }: SimulatedEvent): Promise<void> {
    this.#steps++
    this.current = host
    run()
    await turn()
    while (host.immediates.length > 0) {
      for (const immediate of host.immediates.splice(0)) immediate()
      await turn()
    }
    this.current = undefined
    this.onStep()
  }
}

/** A real turn of the event loop: all promises that can settle have settled after it. */
function turn(): Promise<void> {
  return new Promise((resolve) => realImmediate(resolve))
}

/** Events in the order of their times, and of their making. */
class EventHeap {
  readonly #events: SimulatedEvent[] = []

  push(event: SimulatedEvent): void {
    const events = this.#events
    let place = events.push(event) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (isBefore(events[parent] as SimulatedEvent, event)) break
      events[place] = events[parent] as SimulatedEvent
      place = parent
    }
    events[place] = event
  }

  pop(): SimulatedEvent | undefined {
    const events = this.#events
    const [first] = events
    const last = events.pop()
    if (events.length === 0 || last === undefined) return first
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= events.length) break
      if (child + 1 < events.length && isBefore(events[child + 1] as SimulatedEvent, events[child] as SimulatedEvent))
        child++
      if (isBefore(last, events[child] as SimulatedEvent)) break
      events[place] = events[child] as SimulatedEvent
      place = child
    }
    events[place] = last
    return first
  }
}

function isBefore(a: SimulatedEvent, b: SimulatedEvent): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
