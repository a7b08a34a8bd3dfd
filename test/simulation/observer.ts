/**
 * What clients and tools saw, held against the invariants:
 *
 * - a call has one outcome: its result, or an error that tells; and it has one in time;
 * - an effect happens once, unless a process that had the call was killed, or counted as gone: then its client, or the process
 *   that has its answer, sends that again, and "the same round is sent again" has `step` "run again" (docs/explanation/promises.md);
 * - a client gets questions and results of its own calls only, with its own answers in them;
 * - when all calls are over, no process holds anything of them.
 *
 * docs/explanation/promises.md says what is not promised: "An instance counts as gone when its address refuses, when another
 * process answers there, or when it did not answer twice", although it may be alive; and "instances that share no ledger keep
 * these claims in the memory of one of them; give them a common one where a call must not go on twice even if that one dies";
 * else "the client may wait in vain".
 */
import { type Effect, TOOLS, type ToolName } from './tools.ts'
import type { World } from './world.ts'

/** The virtual time within which a call has an outcome. */
export const OUTCOME_WITHIN_MS = 120_000

export interface ObservedCall {
  readonly name: string
  readonly tool: ToolName
  readonly era: 'session' | 'stateless'
  readonly beganAt: number
  /** How it ended, for the report; absent while it runs. */
  outcome: string | undefined
  isCancelled: boolean
  /** Whether its client sent a round again, whose reply was lost. */
  isRepeated: boolean
  /** The effect that its client has seen. */
  seen: number | undefined
  readonly answers: Map<string, string>
  readonly effects: Effect[]
  /** The processes in which its handler has run, runs now, and has run beside that of another one or after its end. */
  readonly ranAt: Set<string>
  readonly running: Set<string>
  readonly forkedAt: Set<string>
}

export interface ObserverOptions {
  readonly world: World
  readonly hasLedger: boolean
  /** Whether this process was killed, or another one found it to be gone. */
  readonly wasGone: (process: string) => boolean
  readonly isThere: (process: string) => boolean
  /** Whether a process or a connection has failed so far: until then no call may fail. */
  readonly isDisturbed: () => boolean
  /** Whether claims may be lost: the process that keeps them has failed, and there is no common ledger. */
  readonly areClaimsLost: () => boolean
}

export class Observer {
  readonly calls = new Map<string, ObservedCall>()
  readonly violations: string[] = []
  readonly #options: ObserverOptions
  /** What is violated unless one of these processes was gone, which it may learn only later. */
  readonly #repeats: { readonly processes: readonly string[]; readonly text: string }[] = []

  constructor(options: ObserverOptions) {
    this.#options = options
  }

  begin(name: string, tool: ToolName, era: ObservedCall['era']): ObservedCall {
    const call: ObservedCall = {
      name,
      tool,
      era,
      beganAt: this.#options.world.now,
      outcome: undefined,
      isCancelled: false,
      isRepeated: false,
      seen: undefined,
      answers: new Map(),
      effects: [],
      ranAt: new Set(),
      running: new Set(),
      forkedAt: new Set(),
    }
    this.calls.set(name, call)
    return call
  }

  violate(text: string): void {
    const { world } = this.#options
    world.note(() => `VIOLATION ${text}`)
    this.violations.push(`${text} (at ${world.now.toFixed(0)} ms)`)
  }

  /** Reads a question to the client of a call; returns the key of its answer. */
  asked(call: ObservedCall, message: string): string {
    const [name, key = '', number] = message.split(' ')
    if (name !== call.name) this.violate(`${call.name} was asked a question of ${name}`)
    if (number !== undefined) this.#see(call, Number(number))
    return key
  }

  /** A result, as its client got it. */
  completed(call: ObservedCall, text: string): void {
    const [name, number, first, second] = text.split(' ')
    if (name !== call.name) this.violate(`${call.name} got the result of ${name}: ${text}`)
    this.#see(call, Number(number))
    const wanted = [call.answers.get('first'), TOOLS[call.tool].asks === 2 ? call.answers.get('second') : '-']
    if (first !== wanted[0] || second !== wanted[1]) this.violate(`${call.name} got answers it did not give: ${text}`)
    this.#end(call, 'result')
  }

  /** An error that says that the call failed. */
  told(call: ObservedCall, why: string): void {
    const { isDisturbed } = this.#options
    if (why === '' || why.includes('Internal error')) this.violate(`${call.name} failed without a reason: ${why}`)
    if (!isDisturbed()) this.violate(`${call.name} failed although nothing was disturbed: ${why}`)
    this.#end(call, why)
  }

  cancelled(call: ObservedCall): void {
    call.isCancelled = true
    call.outcome ??= 'cancelled'
  }

  onEffect(effect: Effect): void {
    const call = this.calls.get(effect.call)
    if (call === undefined) return this.violate(`an effect of no call: ${effect.call}`)
    const before = call.effects.at(-1)
    call.effects.push(effect)
    if (before === undefined) return
    const ways = `at ${before.process} and at ${effect.process}`
    if (this.#options.areClaimsLost()) return
    if (TOOLS[call.tool].effect === 'once' && this.#options.hasLedger)
      return this.violate(`the single use of ${call.name} ran twice, ${ways}`)
    const text = `the effect of ${call.name} ran again, ${ways} at ${effect.at.toFixed(0)} ms`
    if (call.era === 'session') this.#repeats.push({ processes: [...call.ranAt], text })
    else if (!call.isRepeated || call.seen !== undefined) this.violate(text)
  }

  /** A handler runs, perhaps beside that of another process. */
  onRun(name: string, process: string): () => void {
    const call = this.calls.get(name)
    if (call === undefined) return () => {}
    const beside = [...call.running].filter((other) => other !== process && this.#options.isThere(other))
    if (beside.length > 0 || call.outcome !== undefined)
      for (const each of [process, ...beside]) call.forkedAt.add(each)
    call.running.add(process)
    call.ranAt.add(process)
    return () => call.running.delete(process)
  }

  /** Whether two processes may have gone on with a call, each with effects and events of its own. */
  mayFork({ forkedAt }: ObservedCall): boolean {
    const { areClaimsLost, wasGone } = this.#options
    return forkedAt.size > 0 && (areClaimsLost() || [...forkedAt].some(wasGone))
  }

  /** Effects that ran again although the process that ran them was there. */
  findRepeats(): void {
    for (const { processes, text } of this.#repeats) if (!processes.some(this.#options.wasGone)) this.violate(text)
  }

  get isOver(): boolean {
    return [...this.calls.values()].every(({ outcome }) => outcome !== undefined)
  }

  /** Calls whose time is over. */
  findHanging(): void {
    for (const call of this.calls.values())
      if (call.outcome === undefined && this.#options.world.now - call.beganAt > OUTCOME_WITHIN_MS) {
        if (!this.mayFork(call)) this.violate(`${call.name} (${call.tool}, ${call.era}) has no outcome`)
        call.outcome = 'none'
      }
  }

  #see(call: ObservedCall, number: number): void {
    if (number === 0) return
    const text = `${call.name} was told of two effects, ${call.seen} and ${number}`
    if (call.seen !== undefined && call.seen !== number && !this.#options.areClaimsLost())
      this.#repeats.push({ processes: [...call.ranAt], text })
    if (!call.effects.some((effect) => effect.number === number))
      this.violate(`${call.name} was told of an effect that is not its own`)
    call.seen ??= number
  }

  #end(call: ObservedCall, outcome: string): void {
    if (call.outcome !== undefined && !call.isCancelled)
      this.violate(`${call.name} ended twice: ${call.outcome}, ${outcome}`)
    call.outcome ??= outcome
  }
}
