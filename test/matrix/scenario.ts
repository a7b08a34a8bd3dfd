/** One behaviour in one cell, by two callers at once, with one kill at one message: what became of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Behaviour, BEHAVIOURS, type Seen } from './behaviours.ts'
import { type ClientKind, connect, type MatrixClient, type ToolResult } from './clients.ts'
import type { Replicas, ServerName } from './replicas.ts'
import type { Passing } from './tap.ts'

export interface Cell {
  readonly client: ClientKind
  readonly server: ServerName
  readonly behaviour: string
}

/** `holder`: the gateway that the first caller's call came to. */
export const VICTIMS = ['holder', 'other', 'server', 'client'] as const

export type Victim = (typeof VICTIMS)[number]

export interface Kill {
  readonly victim: Victim
  /** Before so many messages have passed. */
  readonly at: number
}

/** What is wrong with a run; none where all is well. */
export interface ScenarioResult {
  /** How many messages passed. */
  readonly messages: number
  /** Whether the kill happened. */
  readonly killed: boolean
  readonly ends: readonly CallEnd[]
  readonly violations: readonly string[]
}

export type CallEnd =
  | { readonly kind: 'result'; readonly result: ToolResult; readonly isRight: boolean }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'hung' }

const HUNG_AFTER_MS = 25_000
let made = 0

export async function runScenario(replicas: Replicas, cell: Cell, kill?: Kill): Promise<ScenarioResult> {
  const behaviour = BEHAVIOURS[cell.behaviour]
  if (behaviour === undefined) throw new Error(`There is no behaviour "${cell.behaviour}".`)
  const run = new Scenario(replicas, cell, behaviour, kill)
  try {
    return await run.play()
  } finally {
    replicas.onPassing = () => undefined
    await run.close()
  }
}

class Scenario {
  readonly #replicas: Replicas
  readonly #cell: Cell
  readonly #behaviour: Behaviour
  readonly #kill: Kill | undefined
  readonly #keys: readonly [string, string]
  #clients: MatrixClient[] = []
  #messages = 0
  #holder: string | undefined
  #killing: Promise<void> | undefined

  constructor(replicas: Replicas, cell: Cell, behaviour: Behaviour, kill: Kill | undefined) {
    this.#replicas = replicas
    this.#cell = cell
    this.#behaviour = behaviour
    this.#kill = kill
    const id = ++made
    this.#keys = [`ann-${id}`, `bob-${id}`]
  }

  async play(): Promise<ScenarioResult> {
    const { client } = this.#cell
    this.#clients = await Promise.all(this.#keys.map((key) => connect(client, this.#replicas.url, key)))
    this.#replicas.onPassing = (passing) => this.#pass(passing)
    const ends = await Promise.all(this.#keys.map((key, turn) => this.#call(key, this.#clients[turn])))
    const killed = this.#killing !== undefined
    await this.#killing
    const violations = await this.#violations(ends)
    return { messages: this.#messages, killed, ends, violations }
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
  }

  #pass({ way, target, what, body }: Passing): Promise<void> | undefined {
    if (way === 'client' && what === 'request' && body.includes(`"${this.#keys[0]}"`)) this.#holder ??= target
    this.#messages++
    if (this.#kill === undefined || this.#messages !== this.#kill.at) return undefined
    this.#killing = this.#strike(this.#kill.victim)
    return this.#killing
  }

  async #strike(victim: Victim): Promise<void> {
    const { addresses } = this.#replicas
    const holder = this.#holder ?? addresses[0] ?? ''
    switch (victim) {
      case 'holder':
        return this.#replicas.kill(holder)
      case 'other':
        return this.#replicas.kill(addresses.find((each) => each !== holder) ?? '')
      case 'server':
        return this.#replicas.killServer(this.#cell.server, this.#keys[0])
      case 'client':
        void this.#clients[0]?.close()
    }
  }

  async #call(key: string, client: MatrixClient | undefined): Promise<CallEnd> {
    if (client === undefined) return { kind: 'hung' }
    const { server } = this.#cell
    const { tool, isCancelled, isRight } = this.#behaviour
    const left = new AbortController()
    const over = new AbortController()
    if (isCancelled) void this.#cancelWhenBegun(key, left, over.signal)
    let progress = 0
    const options = { signal: left.signal, timeout: 2 * HUNG_AFTER_MS, onprogress: () => void progress++ }
    const called = client.call(`${server}_${tool}`, { key }, options).then(
      (result): CallEnd => {
        const seen: Seen = { name: key, key, progress }
        return { kind: 'result', result, isRight: isRight(result, seen) }
      },
      (error: unknown): CallEnd => ({ kind: 'error', message: error instanceof Error ? error.message : String(error) }),
    )
    const late = sleep(HUNG_AFTER_MS, { kind: 'hung' } as const, { signal: over.signal, ref: false })
    try {
      return await Promise.race([called, late])
    } finally {
      late.catch(() => {})
      over.abort()
    }
  }

  async #cancelWhenBegun(key: string, left: AbortController, over: AbortSignal): Promise<void> {
    while (!over.aborted && this.#replicas.effectsOf(key).length === 0) await sleep(5)
    left.abort()
  }

  async #violations(ends: readonly CallEnd[]): Promise<string[]> {
    const found = ends.map((end, turn) => this.#violationOf(end, this.#keys[turn] ?? '', turn))
    const { tool, isCancelled, mayRepeat } = this.#behaviour
    for (const key of this.#keys) {
      const done = this.#replicas.effectsOf(key).filter(({ what }) => what === 'done').length
      if (done > 1 && !mayRepeat) found.push(`${tool} was done ${done} times`)
      if (isCancelled && this.#kill === undefined && !(await this.#hears('cancelled', key)))
        found.push(`${tool} went on although its client had left`)
    }
    return found.filter((violation) => violation !== undefined)
  }

  async #hears(what: string, key: string): Promise<boolean> {
    for (let waited = 0; waited < 200; waited++) {
      if (this.#replicas.effectsOf(key).some((effect) => effect.what === what)) return true
      await sleep(25)
    }
    return false
  }

  #violationOf(end: CallEnd, key: string, turn: number): string | undefined {
    const isCaller = turn === 0
    if (this.#kill?.victim === 'client' && isCaller) return undefined // it was told nothing any more
    const other = this.#keys[1 - turn] ?? ''
    if (JSON.stringify(end).includes(other)) return `${key} saw what belongs to ${other}: ${JSON.stringify(end)}`
    if (end.kind === 'hung') return `${key} heard nothing`
    if (end.kind === 'error') {
      if (this.#behaviour.isCancelled) return undefined
      const mayFail = this.#kill !== undefined && this.#kill.victim !== 'client'
      return mayFail ? undefined : `${key} heard an error: ${end.message}`
    }
    if (end.isRight) return undefined
    const isTold = end.result.isError === true && this.#kill !== undefined
    return isTold ? undefined : `${key} got a wrong result: ${JSON.stringify(end.result)}`
  }
}
