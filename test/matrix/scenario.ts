/** One behaviour in one cell, by two callers at once, with one kill at one message: what became of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Behaviour, BEHAVIOURS, type Caller, perform } from './behaviours.ts'
import type { Cell } from './cells.ts'
import { Heard, type MatrixClient } from './clients/client.ts'
import { connectClient } from './clients/kinds.ts'
import type { Fleet } from './fleet/fleet.ts'
import type { Passing, Way } from './fleet/passing.ts'
import { type CallEnd, type Outcome, violationsOf } from './verdict.ts'

/** `holder`: the gateway that the first caller's call came to. */
export const VICTIMS = ['holder', 'other', 'server', 'client'] as const

export type Victim = (typeof VICTIMS)[number]

export interface Kill {
  readonly victim: Victim
  /** Before so many messages have passed. */
  readonly at: number
}

export interface ScenarioResult {
  /** Of both callers. */
  readonly keys: readonly string[]
  /** How many messages passed. */
  readonly messages: number
  /** On which way the message was before which something was killed; undefined where nothing was. */
  readonly killedAt: Way | undefined
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

export async function runScenario(fleet: Fleet, cell: Cell, kill?: Kill, limits = LIMITS): Promise<ScenarioResult> {
  const behaviour = BEHAVIOURS[cell.behaviour]
  if (behaviour === undefined) throw new Error(`There is no behaviour "${cell.behaviour}".`)
  const run = new Scenario(fleet, cell, behaviour, { kill, limits })
  try {
    return await run.play()
  } finally {
    fleet.onPassing = () => undefined
    run.close()
  }
}

class Scenario {
  readonly #fleet: Fleet
  readonly #cell: Cell
  readonly #behaviour: Behaviour
  readonly #kill: Kill | undefined
  readonly #limits: Limits
  readonly #keys: readonly [string, string]
  readonly #clients: MatrixClient[] = []
  readonly #passed: string[] = []
  readonly #began = performance.now()
  #holder: string | undefined
  #worker: number | undefined
  #killedAt: Way | undefined
  #killing: Promise<void> | undefined
  readonly #clientKilled = Promise.withResolvers<CallEnd>()

  constructor(fleet: Fleet, cell: Cell, behaviour: Behaviour, given: { kill: Kill | undefined; limits: Limits }) {
    this.#fleet = fleet
    this.#cell = cell
    this.#behaviour = behaviour
    this.#kill = given.kill
    this.#limits = given.limits
    const id = ++made
    this.#keys = [`ann-${id}-`, `bob-${id}-`]
  }

  async play(): Promise<ScenarioResult> {
    this.#fleet.onPassing = (passing) => this.#pass(passing)
    const outcomes = await Promise.all(this.#keys.map((key) => this.#outcome(key)))
    const wentOn: string[] = []
    if (this.#behaviour.isCancelled)
      for (const key of this.#keys)
        if (!(await this.#isCancelled(key))) wentOn.push('the tool went on although its client had left')
    await this.#killing
    const violations = [...this.#violationsOf(outcomes), ...wentOn]
    const ends = outcomes.map(({ end }) => end)
    const messages = this.#passed.length
    const passed = this.#passed
    return { keys: this.#keys, messages, killedAt: this.#killedAt, ends, outcomes, violations, passed }
  }

  #violationsOf(outcomes: readonly Outcome[]): string[] {
    const victim = this.#killedAt && this.#kill?.victim
    return violationsOf(outcomes, { behaviour: this.#behaviour, client: this.#cell.client, victim })
  }

  close(): void {
    for (const client of this.#clients) void client.close()
  }

  #pass({ way, target, what, body }: Passing): Promise<void> | undefined {
    const isOfFirst = body.includes(`"${this.#keys[0]}"`)
    if (way === 'client ↔ gateway' && what === 'request' && isOfFirst) this.#holder ??= target
    if (way === 'gateway ↔ server' && isOfFirst) this.#worker = Number(target) || undefined
    const ms = Math.round(performance.now() - this.#began)
    const isBeforeKill = this.#passed.length + 1 === this.#kill?.at
    this.#passed.push(`${isBeforeKill ? 'KILL ' : ''}${ms} ms, ${way}, ${target}, ${what}: ${body.trimEnd()}`)
    if (this.#kill === undefined || !isBeforeKill) return undefined
    this.#killedAt = way
    this.#killing = this.#strike(this.#kill.victim)
    return this.#killing
  }

  async #strike(victim: Victim): Promise<void> {
    const { addresses } = this.#fleet
    const holder = this.#holder ?? addresses[0] ?? ''
    switch (victim) {
      case 'holder':
        return this.#fleet.kill(holder)
      case 'other':
        return this.#fleet.kill(addresses.find((each) => each !== holder) ?? '')
      case 'server':
        return this.#fleet.killServer(this.#worker)
      case 'client':
        this.#fleet.dropClient(this.#keys[0])
        this.#clientKilled.resolve({ kind: 'killed' })
    }
  }

  async #outcome(key: string): Promise<Outcome> {
    const began = performance.now()
    const left = new AbortController()
    const over = new AbortController()
    const heard = new Heard()
    if (this.#behaviour.isCancelled) void this.#cancelWhenBegun(key, left, over.signal)
    const options = { signal: left.signal, timeout: this.#limits.timeoutMs }
    const ended = this.#run(key, heard, options).catch(
      (error: unknown): CallEnd => ({ kind: 'error', message: error instanceof Error ? error.message : String(error) }),
    )
    const late = sleep(this.#limits.hungAfterMs, { kind: 'hung' } as const, { signal: over.signal, ref: false })
    const killed = key === this.#keys[0] ? [this.#clientKilled.promise] : []
    try {
      const end: CallEnd = await Promise.race([ended, late, ...killed])
      return { key, end, heard, effects: this.#fleet.effectsOf(key), ms: performance.now() - began }
    } finally {
      late.catch(() => {})
      over.abort()
    }
  }

  async #run(key: string, heard: Heard, options: Caller['options']): Promise<CallEnd> {
    const { needsTasks: takesTasks } = this.#behaviour
    const door = this.#fleet.doorFor(key)
    const { isPolite: endsSession, timeoutMs } = this.#limits
    const timeout = endsSession ? timeoutMs : undefined
    const connecting = { ...door, name: key, heard, takesTasks, timeout, endsSession }
    const client = await connectClient(this.#cell.client, connecting)
    this.#clients.push(client)
    const caller: Caller = {
      key,
      client,
      heard,
      options,
      toolName: (tool) => this.#fleet.toolName(tool),
      plainUri: (uri) => this.#fleet.plainUri(uri),
      isDisturbed: () => this.#killedAt !== undefined,
    }
    const result = await perform(this.#behaviour, caller)
    return { kind: 'result', result, isRight: this.#behaviour.isRight(result, caller) }
  }

  async #cancelWhenBegun(key: string, left: AbortController, over: AbortSignal): Promise<void> {
    while (!over.aborted && this.#fleet.effectsOf(key).length === 0) await sleep(5)
    left.abort()
  }

  /** Whether the tool hears that its client has left, unless something is killed on the way. */
  async #isCancelled(key: string): Promise<boolean> {
    for (let waited = 0; waited < 200 && this.#killedAt === undefined; waited++) {
      if (this.#fleet.effectsOf(key).some(({ what }) => what === 'cancelled')) return true
      await sleep(25)
    }
    return this.#killedAt !== undefined
  }
}
