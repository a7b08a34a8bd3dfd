/** One behaviour in one cell, by two callers at once, with one fault at one message: what became of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Behaviour, BEHAVIOURS, type Caller, perform } from './behaviours.ts'
import type { Cell } from './cells.ts'
import { Heard, type MatrixClient } from './clients/client.ts'
import { connectClient } from './clients/kinds.ts'
import { type Fault, type FaultAt, isOfNetwork } from './faults.ts'
import type { Fleet } from './fleet/fleet.ts'
import type { Fate, Passing, Way } from './fleet/passing.ts'
import { KINDS } from './fleet/servers.ts'
import { canDisturb, disturb } from './network.ts'
import { type CallEnd, type Outcome, violationsOf } from './verdict.ts'

export interface ScenarioResult {
  /** Of all calls. */
  readonly keys: readonly string[]
  /** How many messages passed. */
  readonly messages: number
  /** On which way the message was at which the fault happened; undefined where none did. */
  readonly struckAt: Way | undefined
  readonly ends: readonly CallEnd[]
  readonly outcomes: readonly Outcome[]
  readonly violations: readonly string[]
  /** Each message that passed, and when, for whoever looks for the reason of a violation. */
  readonly passed: readonly string[]
}

export interface Limits {
  /** The time limit of clients themselves. */
  readonly timeoutMs: number
  readonly hungAfterMs: number
  /** Whether the time limit is that of connecting, too, and clients end their sessions. */
  readonly isPolite?: true
}

/** Long after every deadline of a gateway, also on a machine that is busy with something else. */
const LIMITS: Limits = { timeoutMs: 25_000, hungAfterMs: 60_000 }
let made = 0

export async function runScenario(fleet: Fleet, cell: Cell, fault?: FaultAt, limits = LIMITS): Promise<ScenarioResult> {
  const behaviour = BEHAVIOURS[cell.behaviour]
  if (behaviour === undefined) throw new Error(`There is no behaviour "${cell.behaviour}".`)
  const run = new Scenario(fleet, cell, behaviour, { fault, limits })
  try {
    return await run.play()
  } finally {
    fleet.onPassing = () => undefined
    run.close()
  }
}

/** One of the two who call, with one client for all calls. */
interface Person {
  readonly name: string
  readonly keys: readonly string[]
  readonly heard: Heard
}

class Scenario {
  readonly #fleet: Fleet
  readonly #cell: Cell
  readonly #behaviour: Behaviour
  readonly #fault: FaultAt | undefined
  readonly #limits: Limits
  readonly #people: readonly [Person, Person]
  readonly #clients = new Map<Person, Promise<MatrixClient>>()
  readonly #passed: string[] = []
  readonly #began = performance.now()
  #holder: string | undefined
  #worker: number | undefined
  /** The message at which the fault happened. */
  #struck: Passing | undefined
  #striking: Promise<Fate> | undefined
  readonly #clientGone = Promise.withResolvers<CallEnd>()

  constructor(fleet: Fleet, cell: Cell, behaviour: Behaviour, given: { fault: FaultAt | undefined; limits: Limits }) {
    this.#fleet = fleet
    this.#cell = cell
    this.#behaviour = behaviour
    this.#fault = given.fault
    this.#limits = given.limits
    const id = ++made
    this.#people = [personOf(`ann-${id}-`, behaviour), personOf(`bob-${id}-`, behaviour)]
  }

  async play(): Promise<ScenarioResult> {
    this.#fleet.onPassing = (passing) => this.#pass(passing)
    const outcomes = (await Promise.all(this.#people.map((person) => this.#outcomesOf(person)))).flat()
    const keys = outcomes.map(({ key }) => key)
    const wentOn: string[] = []
    if (this.#behaviour.isCancelled)
      for (const key of keys)
        if (!(await this.#isCancelled(key))) wentOn.push('the tool went on although its client had left')
    await this.#striking
    const violations = [...this.#violationsOf(outcomes), ...wentOn]
    const ends = outcomes.map(({ end }) => end)
    const messages = this.#passed.length
    const passed = this.#passed
    return { keys, messages, struckAt: this.#struck?.way, ends, outcomes, violations, passed }
  }

  #violationsOf(outcomes: readonly Outcome[]): string[] {
    const { client, server } = this.#cell
    const struck = this.#struck
    const fault = struck && this.#fault
    return violationsOf(outcomes, { behaviour: this.#behaviour, client, server, fault, struck })
  }

  close(): void {
    for (const person of this.#people) this.#leave(person)
  }

  #leave(person: Person): void {
    this.#clients.get(person)?.then(
      (client) => client.close(),
      () => {}, // it never came in
    )
  }

  #pass(passing: Passing): Promise<Fate> | undefined {
    const { way, target, what, body } = passing
    const isOfFirst = body.includes(`"${this.#people[0].keys[0]}"`)
    if (way === 'client ↔ gateway' && what === 'request' && isOfFirst) this.#holder ??= target
    if (way === 'gateway ↔ server' && isOfFirst) this.#worker = Number(target) || undefined
    const ms = Math.round(performance.now() - this.#began)
    const fault = this.#faultAt(passing)
    const mark = fault === undefined ? '' : 'FAULT '
    this.#passed.push(`${mark}${ms} ms, ${way}, ${target}, ${what}: ${body.trimEnd()}`)
    if (fault === undefined) return undefined
    this.#struck = passing
    this.#striking = this.#strike(fault)
    return this.#striking
  }

  /** The fault that happens at this message. */
  #faultAt(passing: Passing): Fault | undefined {
    const fault = this.#fault
    if (fault === undefined || this.#struck !== undefined || this.#passed.length + 1 < fault.at) return undefined
    return !isOfNetwork(fault) || canDisturb(fault, passing, KINDS[this.#cell.server]) ? fault : undefined
  }

  /** Gives what becomes of the message. */
  async #strike(fault: Fault): Promise<Fate> {
    const { addresses } = this.#fleet
    const holder = this.#holder ?? addresses[0] ?? ''
    const signal = fault.kind === 'kill' ? 'SIGKILL' : 'SIGTERM'
    switch (fault.victim) {
      case 'holder':
        await this.#fleet.end(holder, signal)
        break
      case 'other':
        await this.#fleet.end(addresses.find((each) => each !== holder) ?? '', signal)
        break
      case 'server':
        await this.#fleet.endServer(this.#worker, signal)
        break
      case 'client':
        this.#clientGone.resolve({ kind: 'killed' })
        if (fault.kind === 'kill') this.#fleet.dropClient(this.#people[0].name)
        else this.#leave(this.#people[0])
        break
      case 'inbound':
      case 'outbound':
        return disturb(fault)
    }
    return undefined
  }

  #outcomesOf(person: Person): Promise<Outcome[]> {
    const client = this.#connect(person)
    this.#clients.set(person, client)
    return Promise.all(person.keys.map((key) => this.#outcome(person, key, client)))
  }

  async #outcome(person: Person, key: string, client: Promise<MatrixClient>): Promise<Outcome> {
    const began = performance.now()
    const left = new AbortController()
    const over = new AbortController()
    const { name: caller, heard } = person
    if (this.#behaviour.isCancelled) void this.#cancelWhenBegun(key, left, over.signal)
    const options = { signal: left.signal, timeout: this.#limits.timeoutMs }
    const ended = client
      .then((connected) => this.#run(connected, key, heard, options))
      .catch(
        (error: unknown): CallEnd => ({
          kind: 'error',
          message: error instanceof Error ? error.message : String(error),
        }),
      )
    const late = sleep(this.#limits.hungAfterMs, { kind: 'hung' } as const, { signal: over.signal, ref: false })
    const gone = person === this.#people[0] ? [this.#clientGone.promise] : []
    try {
      const end: CallEnd = await Promise.race([ended, late, ...gone])
      return { caller, key, end, heard, effects: this.#fleet.effectsOf(key), ms: performance.now() - began }
    } finally {
      late.catch(() => {})
      over.abort()
    }
  }

  #connect({ name, heard }: Person): Promise<MatrixClient> {
    const { needsTasks: takesTasks, thinksMs } = this.#behaviour
    const door = this.#fleet.doorFor(name)
    const { isPolite: endsSession, timeoutMs } = this.#limits
    const timeout = endsSession ? timeoutMs : undefined
    const connecting = { ...door, name, heard, takesTasks, thinksMs, timeout, endsSession }
    return connectClient(this.#cell.client, connecting)
  }

  async #run(client: MatrixClient, key: string, heard: Heard, options: Caller['options']): Promise<CallEnd> {
    const caller: Caller = {
      key,
      client,
      heard,
      options,
      toolName: (tool) => this.#fleet.toolName(tool),
      plainUri: (uri) => this.#fleet.plainUri(uri),
      isDisturbed: () => this.#struck !== undefined,
    }
    const result = await perform(this.#behaviour, caller)
    return { kind: 'result', result, isRight: this.#behaviour.isRight(result, caller) }
  }

  async #cancelWhenBegun(key: string, left: AbortController, over: AbortSignal): Promise<void> {
    while (!over.aborted && this.#fleet.effectsOf(key).length === 0) await sleep(5)
    left.abort()
  }

  /** Whether the tool hears that its client has left, unless a fault happens on the way. */
  async #isCancelled(key: string): Promise<boolean> {
    for (let waited = 0; waited < 200 && this.#struck === undefined; waited++) {
      if (this.#fleet.effectsOf(key).some(({ what }) => what === 'cancelled')) return true
      await sleep(25)
    }
    return this.#struck !== undefined
  }
}

function personOf(name: string, { calls = 1 }: Behaviour): Person {
  const keys = calls === 1 ? [name] : Array.from({ length: calls }, (_, index) => `${name}${index + 1}`)
  return { name, keys, heard: new Heard() }
}
