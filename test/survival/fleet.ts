/** Instances as processes behind a balancer, which can be restarted and killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { newKey } from 'pannier/state'
import { quickStart } from '../bundle/environment.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { PassedRequests } from './passedRequests.ts'
import type { Passed, Trace } from './verdict.ts'

const INSTANCE = fileURLToPath(new URL('programs/instance.ts', import.meta.url))

interface Member {
  readonly child: ChildProcess
  readonly url: string
}

export class Fleet {
  readonly #balancer: Balancer
  readonly #folder = mkdtempSync(join(tmpdir(), 'pannier-survival-'))
  readonly #keys = newKey()
  readonly #members: Member[] = []
  readonly #programs: readonly string[]
  #started = 0
  /** The newest process at each address. */
  readonly #processes = new Map<string, number>()
  readonly #passed = new PassedRequests()
  /** When each process was killed that was, by `performance.now()`. */
  readonly killedAt = new Map<number, number>()
  /** How long each instance took to stop, in milliseconds. */
  readonly stopMs: number[] = []

  private constructor(balancer: Balancer, programs: readonly string[]) {
    this.#balancer = balancer
    this.#programs = programs
    balancer.onPass = (session, body, target) => this.#passed.note(session, body, this.#processes.get(target) ?? 0)
    writeFileSync(this.#effects, '')
  }

  /** `programs`: of different versions, which instances run by turns. */
  static async start(count: number, programs: readonly string[] = [INSTANCE]): Promise<Fleet> {
    const fleet = new Fleet(await startBalancer(), programs)
    await Promise.all(Array.from({ length: count }, () => fleet.#add()))
    return fleet
  }

  get url(): string {
    return this.#balancer.url
  }

  get #effects(): string {
    return join(this.#folder, 'effects')
  }

  /** Replaces the oldest instance: the new one is there before the old one is told to go. */
  async replace(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#add()
    const old = this.#members.shift()
    if (old === undefined) return
    // A balancer learns of a rolling restart beforehand, and of a crash by itself.
    if (signal === 'SIGTERM') this.#tellBalancer()
    if (signal === 'SIGKILL') this.killedAt.set(old.child.pid ?? 0, performance.now())
    await this.#end(old, signal)
    this.#tellBalancer()
  }

  /** Stops the oldest instance and starts another at its address, as a supervisor does. */
  async restart(): Promise<void> {
    const old = this.#members.shift()
    if (old === undefined) return
    await this.#end(old, 'SIGTERM')
    await this.#add(new URL(old.url).port)
  }

  /** The processes that the balancer sent this call to, and its cancellation. */
  passed(call: string): Passed {
    return this.#passed.of(call)
  }

  /** What happened, by call. */
  traces(): Map<string, Trace> {
    const traces = new Map<string, Trace>()
    for (const line of readFileSync(this.#effects, 'utf8').split('\n').filter(Boolean)) {
      const [what, call = '', pid] = line.split(' ')
      const trace = traces.get(call) ?? { began: [], done: 0, cancelled: 0 }
      traces.set(call, trace)
      if (what === 'began') trace.began.push(Number(pid))
      else if (what === 'done') trace.done++
      else trace.cancelled++
    }
    return traces
  }

  async stop(): Promise<void> {
    this.#balancer.close()
    const gone = this.#members.map(({ child }) => once(child, 'exit'))
    for (const { child } of this.#members) child.kill('SIGKILL')
    await Promise.all(gone)
    rmSync(this.#folder, { recursive: true })
  }

  async #add(port = '0'): Promise<void> {
    const { PATH = '' } = process.env
    const env = { PATH, ...quickStart, PANNIER_KEYS: this.#keys, PANNIER_LOG_LEVEL: 'silent' }
    const program = this.#programs[this.#started++ % this.#programs.length] ?? INSTANCE
    const child = spawn(process.execPath, ['--conditions=pannier-source', program], {
      env: { ...env, EFFECTS: this.#effects, PORT: port },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const url of createInterface(child.stdout)) {
      this.#members.push({ child, url })
      this.#processes.set(url, child.pid ?? 0)
      this.#tellBalancer()
      return
    }
    throw new Error('An instance ended before it said where it listens.')
  }

  async #end({ child }: Member, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const began = performance.now()
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
    if (signal === 'SIGTERM') this.stopMs.push(performance.now() - began)
  }

  #tellBalancer(): void {
    this.#balancer.targets = this.#members.map(({ url }) => url)
  }
}
