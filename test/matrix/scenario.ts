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
  /** How many messages passed. */
  readonly messages: number
  /** On which way the message was before which something was killed; undefined where nothing was. */
  readonly killedAt: Way | undefined
  readonly ends: readonly CallEnd[]
  readonly violations: readonly string[]
}

/** Long after every deadline of a gateway, also on a machine that is busy with something else. */
const HUNG_AFTER_MS = 60_000
let made = 0

export async function runScenario(fleet: Fleet, cell: Cell, kill?: Kill): Promise<ScenarioResult> {
  const behaviour = BEHAVIOURS[cell.behaviour]
  if (behaviour === undefined) throw new Error(`There is no behaviour "${cell.behaviour}".`)
  const run = new Scenario(fleet, cell, behaviour, kill)
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
  readonly #keys: readonly [string, string]
  readonly #clients: MatrixClient[] = []
  #messages = 0
  #holder: string | undefined
  #worker: number | undefined
  #killedAt: Way | undefined
  #killing: Promise<void> | undefined

  constructor(fleet: Fleet, cell: Cell, behaviour: Behaviour, kill: Kill | undefined) {
    this.#fleet = fleet
    this.#cell = cell
    this.#behaviour = behaviour
    this.#kill = kill
    const id = ++made
    this.#keys = [`ann-${id}-`, `bob-${id}-`]
  }

  async play(): Promise<ScenarioResult> {
    this.#fleet.onPassing = (passing) => this.#pass(passing)
    const outcomes = await Promise.all(this.#keys.map((key) => this.#outcome(key)))
    await this.#killing
    const violations = violationsOf(this.#behaviour, outcomes, this.#killedAt && this.#kill?.victim)
    if (this.#behaviour.isCancelled && this.#killedAt === undefined)
      for (const key of this.#keys)
        if (!(await this.#happens('cancelled', key))) violations.push('the tool went on although its client had left')
    return { messages: this.#messages, killedAt: this.#killedAt, ends: outcomes.map(({ end }) => end), violations }
  }

  close(): void {
    for (const client of this.#clients) void client.close()
  }

  #pass({ way, target, what, body }: Passing): Promise<void> | undefined {
    const isOfFirst = body.includes(`"${this.#keys[0]}"`)
    if (way === 'client ↔ gateway' && what === 'request' && isOfFirst) this.#holder ??= target
    if (way === 'gateway ↔ server' && isOfFirst) this.#worker = Number(target) || undefined
    this.#messages++
    if (this.#kill === undefined || this.#messages !== this.#kill.at) return undefined
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
        return this.#fleet.dropClient(this.#keys[0])
    }
  }

  async #outcome(key: string): Promise<Outcome> {
    const left = new AbortController()
    const over = new AbortController()
    const heard = new Heard()
    if (this.#behaviour.isCancelled) void this.#cancelWhenBegun(key, left, over.signal)
    const options = { signal: left.signal, timeout: 2 * HUNG_AFTER_MS }
    const ended = this.#run(key, heard, options).catch(
      (error: unknown): CallEnd => ({ kind: 'error', message: error instanceof Error ? error.message : String(error) }),
    )
    const late = sleep(HUNG_AFTER_MS, { kind: 'hung' } as const, { signal: over.signal, ref: false })
    try {
      const end: CallEnd = await Promise.race([ended, late])
      return { key, end, heard, effects: this.#fleet.effectsOf(key) }
    } finally {
      late.catch(() => {})
      over.abort()
    }
  }

  async #run(key: string, heard: Heard, options: Caller['options']): Promise<CallEnd> {
    const { needsTasks: takesTasks } = this.#behaviour
    const client = await connectClient(this.#cell.client, { url: this.#fleet.url, name: key, heard, takesTasks })
    this.#clients.push(client)
    const caller: Caller = {
      key,
      client,
      heard,
      options,
      toolName: (tool) => this.#fleet.toolName(tool),
      isDisturbed: () => this.#killedAt !== undefined,
    }
    const result = await perform(this.#behaviour, caller)
    return { kind: 'result', result, isRight: this.#behaviour.isRight(result, caller) }
  }

  async #cancelWhenBegun(key: string, left: AbortController, over: AbortSignal): Promise<void> {
    while (!over.aborted && this.#fleet.effectsOf(key).length === 0) await sleep(5)
    left.abort()
  }

  async #happens(what: string, key: string): Promise<boolean> {
    for (let waited = 0; waited < 200; waited++) {
      if (this.#fleet.effectsOf(key).some((effect) => effect.what === what)) return true
      await sleep(25)
    }
    return false
  }
}
