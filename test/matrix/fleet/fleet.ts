/** Gateways as processes behind a plain balancer, one server behind them, and every way between them through a tap. */
import type { ChildProcess, StdioOptions } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { newKey } from 'pannier/state'
import { quickStart } from '../../bundle/environment.ts'
import {
  anyGateway,
  type Door,
  filledIn,
  type GatewayCommand,
  ourGateway,
  ourServer,
  PANNIER,
  isServing,
  type StartedGateway,
  type Words,
} from './gateways.ts'
import { type Effect, Effects } from './effects.ts'
import { HttpServer } from './httpServer.ts'
import { type LineTap, startLineTap } from './lineTap.ts'
import type { OnPassing } from './passing.ts'
import { Pipe } from './pipe.ts'
import { newPort } from './ports.ts'
import { childrenOf, endProcess, hasEnded, kill, orphansOf, type Signal, start } from './processes.ts'
import { KINDS, type ServerKind, type ServerName } from './servers.ts'
import { startTap, type Tap } from './tap.ts'
import { reachesServer, readVitals, type Vitals, workersServe } from './vitals.ts'
import { wordsOf } from './words.ts'

/** Where a gateway listens. */
interface Ports {
  readonly port: number
  readonly adminPort: number
}

interface Member {
  readonly child: ChildProcess
  readonly url: string
  readonly admin: string | undefined
  readonly tap: Tap
}

const VITALS = fileURLToPath(new URL('vitals.cjs', import.meta.url))
const ORPHANS_END_WITHIN_MS = 60_000
/** The time in which a drain has to be over, 25 seconds, and what it needs to leave, on a machine that is busy. */
const STOPS_WITHIN_MS = 40_000
/** A gateway that does not serve so long after a kill is started anew. */
const HEALS_WITHIN_MS = 5000

export class Fleet {
  readonly server: ServerName
  /** Told of each message before it goes on. */
  onPassing: OnPassing = () => undefined
  readonly #folder = mkdtempSync(join(tmpdir(), 'pannier-matrix-'))
  readonly #keys = newKey()
  readonly #command: GatewayCommand
  readonly #kind: ServerKind
  #http: HttpServer | undefined
  #lines: LineTap | undefined
  #members: Member[] = []
  /** Gateways that clients have started for themselves, by caller. */
  readonly #pipes = new Map<string, { readonly child: ChildProcess; readonly pipe: Pipe }>()
  /** Callers that were cut off. */
  readonly #dropped = new Set<string>()
  #front: Tap | undefined
  #database = ''
  #starting: Promise<unknown> | undefined
  #workersEnded = 0
  /** Of processes that were stopped: whether they ended in time. */
  readonly #leaving: Promise<boolean>[] = []
  readonly #effects = new Effects(join(this.#folder, 'effects'))

  private constructor(server: ServerName, command: GatewayCommand) {
    this.server = server
    this.#kind = KINDS[server]
    this.#command = command
  }

  static async start(server: ServerName, command = PANNIER): Promise<Fleet> {
    const fleet = new Fleet(server, command)
    const onPassing: OnPassing = (passing) => fleet.onPassing(passing)
    fleet.#front = await startTap({ way: 'client ↔ gateway', onPassing, isBalancer: true })
    fleet.#tellFront()
    fleet.#database = (await command.database?.()) ?? ''
    if (fleet.#kind.isProcess) fleet.#lines = await startLineTap(fleet.#linesPath, onPassing)
    else if (!command.isServer) fleet.#http = await HttpServer.start(fleet.#kind, fleet.#env(), onPassing)
    // One that serves the caller, and two that calls of the caller come to.
    const wanted = command.replicas ?? (fleet.#kind.state === 'stateful' ? 3 : 2)
    const replicas = command.isPerClient ? 0 : wanted
    await Promise.all(Array.from({ length: replicas }, () => fleet.#add()))
    return fleet
  }

  /** How a client gets to the gateways. */
  doorFor(name: string): Door {
    const door = this.#doorOf(`http://127.0.0.1:${this.#front?.port}`)
    return this.#command.isPerClient ? { ...door, transport: () => this.#pipe(name) } : door
  }

  #doorOf(origin: string): Door {
    const { path = '/mcp', isSse } = this.#command
    return { url: `${origin}${path}`, isSse }
  }

  /** The name of a tool at the gateways. */
  toolName(tool: string): string {
    return `${(this.#command.prefix ?? 'SERVER_').replace('SERVER', this.server)}${tool}`
  }

  /** Some gateways put the name of the server before addresses, too. */
  plainUri(uri: string): string {
    const prefix = this.toolName('')
    return uri.startsWith(prefix) ? uri.slice(prefix.length) : uri
  }

  /** The addresses of the gateways. */
  get addresses(): readonly string[] {
    const pipes = [...this.#pipes.values()].filter(({ pipe }) => pipe.isRunning)
    return [...this.#members.map(({ url }) => url), ...pipes.map(({ pipe }) => pipe.target)]
  }

  get #linesPath(): string {
    return join(this.#folder, 'lines')
  }

  /** What the server's tools have done for a key. */
  effectsOf(key: string): readonly Effect[] {
    return this.#effects.of(key)
  }

  async #add(): Promise<void> {
    const onPassing: OnPassing = (passing) => this.onPassing(passing)
    const tap = await startTap({ way: 'gateway ↔ gateway', onPassing, isBalancer: false })
    const ports = { port: await newPort(), adminPort: await newPort() }
    // It looks at once whether the address leads to it that it tells the others.
    tap.targets = [`http://127.0.0.1:${ports.port}`]
    const { hasWorkers, isServer } = this.#command
    // The address of a server is that of its endpoint.
    const path = isServer ? '/mcp' : ''
    const child = this.#spawnGateway(ports, ['ignore', 'pipe', 'pipe'], {
      NODE_OPTIONS: `${quickStart.NODE_OPTIONS} --require=${JSON.stringify(VITALS)}`.trim(),
      MATRIX_VITALS: this.#folder,
      ...(!hasWorkers && { PANNIER_ADVERTISE: `http://127.0.0.1:${tap.port}${path}` }),
      // So that they know each other before a client makes them meet.
      PANNIER_PEERS: `http://127.0.0.1:${this.#front?.port}${path}`,
      ...(isServer && { PORT: String(ports.port) }),
    })
    const started = await this.#started(child, ports)
    const url = new URL(started.url).origin
    this.#members.push({ child, url, admin: started.admin, tap })
    this.#tellFront()
  }

  #started(child: ChildProcess, { port }: Ports): Promise<StartedGateway> {
    const { isOurs, isServer } = this.#command
    if (isServer) return ourServer(child)
    return isOurs
      ? ourGateway(child)
      : anyGateway(child, this.#doorOf(`http://127.0.0.1:${port}`), this.toolName('plain'))
  }

  /** `ofOurs`: what only a gateway of ours gets that tells of itself; any other gets what its command says. */
  #spawnGateway(ports: Ports, stdio: StdioOptions, ofOurs: Record<string, string> = {}): ChildProcess {
    const { command, args, env = {}, isOurs } = this.#command
    const folder = mkdtempSync(join(this.#folder, 'gateway-'))
    const words = this.#words(folder, ports)
    const own = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, filledIn([value], words).join('')]),
    )
    const { PATH = '' } = process.env
    return start(command, filledIn(args, words), {
      env: isOurs ? { ...this.#env(), ...ofOurs } : { PATH, HOME: folder, ...own },
      stdio,
    })
  }

  #pipe(name: string): Pipe {
    const child = this.#spawnGateway({ port: 0, adminPort: 0 }, ['pipe', 'pipe', 'ignore'])
    const pipe = new Pipe(child, (passing) => this.onPassing(passing))
    this.#pipes.set(name, { child, pipe })
    if (this.#dropped.has(name)) pipe.drop()
    return pipe
  }

  /**
   * Ends a gateway. Another one is started in its place. Of a kill the balancer finds out by itself; of a stop it learns in
   * time to send nothing more there.
   */
  async end(url: string, signal: Signal): Promise<void> {
    const own = [...this.#pipes.values()].find(({ pipe }) => pipe.target === url)
    if (own !== undefined) return kill(own.child)
    const member = this.#members.find((each) => each.url === url)
    if (member === undefined) return
    if (this.#command.hasWorkers) return this.#endWorker(member, signal)
    this.#members = this.#members.filter((each) => each !== member)
    this.#tellFront()
    if (signal === 'SIGKILL') await kill(member.child)
    this.#mend(this.#add())
    await this.#left(member.child.pid, signal, () => member.tap.close())
  }

  /** One of them, by turns. The gateway starts another one in its place. */
  async #endWorker({ child, admin }: Member, signal: Signal): Promise<void> {
    const workers = childrenOf(child.pid ?? 0)
    const victim = workers[this.#workersEnded++ % workers.length]
    if (admin !== undefined) this.#mend(workersServe(admin, workers.length))
    await this.#left(victim, signal)
  }

  /** Ends the process of the server that works on this call, or the newest one. One over HTTP is started again. */
  async endServer(pid: number | undefined, signal: Signal): Promise<void> {
    if (this.#http !== undefined) {
      if (signal === 'SIGTERM') return this.#left((await this.#http.replace())?.pid, signal)
      await this.#http.kill()
      return this.#mend(this.#http.restart())
    }
    const victim = pid ?? this.#lines?.processes.at(-1)
    if (victim === undefined || !this.#lines?.processes.includes(victim)) return
    await this.#left(victim, signal)
    // On a busy machine it may end later than its calls, and must not end in those of the next fault.
    this.#mend(hasEnded(victim, STOPS_WITHIN_MS))
  }

  /** Sends the signal to a process, and waits until it has ended where it ends at once. */
  async #left(pid: number | undefined, signal: Signal, then = (): void => {}): Promise<void> {
    if (pid === undefined) return
    endProcess(pid, signal)
    const ended = hasEnded(pid, STOPS_WITHIN_MS).then((isTrue) => {
      then()
      return isTrue
    })
    if (signal === 'SIGKILL') await ended
    else this.#leaving.push(ended)
  }

  #mend(starting: Promise<unknown>): void {
    this.#starting = starting
    starting.catch(() => {}) // `mended` tells
  }

  /** How many processes that were stopped did not end in time. */
  async lingering(): Promise<number> {
    return (await Promise.all(this.#leaving)).filter((hasEndedInTime) => !hasEndedInTime).length
  }

  /** Cuts a client off. */
  dropClient(name: string): void {
    this.#dropped.add(name)
    this.#front?.drop(name)
    this.#pipes.get(name)?.pipe.drop()
  }

  /** Resolves when there are as many processes as before, and gateways reach their server. */
  async mended(): Promise<void> {
    await this.#starting
    const admins = this.#members.flatMap(({ admin }) => admin ?? [])
    await Promise.all(admins.map(reachesServer))
  }

  /** Starts all gateways anew, where one does not serve any more. Gives whether it was needed. */
  async revived(): Promise<boolean> {
    await this.mended()
    if (this.#command.isPerClient || this.#command.isOurs) return false
    const serves = await Promise.all(
      this.#members.map(({ url }) => isServing(this.#doorOf(url), this.toolName('plain'), HEALS_WITHIN_MS)),
    )
    if (serves.every(Boolean)) return false
    for (const url of this.addresses) {
      await this.end(url, 'SIGKILL')
      await this.mended()
    }
    return true
  }

  /** What the gateways hold that are there now. */
  vitals(): Promise<readonly Vitals[]> {
    return Promise.all(this.#members.map(({ child, admin }) => readVitals(this.#folder, child.pid ?? 0, admin)))
  }

  /** How many processes belong to nobody any more, and do not end within this time, in milliseconds. */
  async orphans(withinMs = ORPHANS_END_WITHIN_MS): Promise<number> {
    for (const began = performance.now(); performance.now() - began < withinMs; await sleep(250))
      if (this.#orphans().length === 0) return 0
    return this.#orphans().length
  }

  /** Clients have left by then, so that a gateway that one had started for itself belongs to nobody, either. */
  #orphans(): number[] {
    const known = new Set([...this.#members.map(({ child }) => child.pid ?? 0), this.#http?.pid ?? 0])
    return orphansOf(this.#folder, known)
  }

  async stop(): Promise<void> {
    await this.#starting?.catch(() => {})
    this.#front?.close()
    for (const { tap, child } of this.#members) {
      tap.close()
      await kill(child)
    }
    for (const { child } of this.#pipes.values()) await kill(child)
    await this.#http?.kill()
    this.#lines?.close()
    for (const pid of this.#orphans()) endProcess(pid)
    await sleep(100) // processes of a server end with their input, and write to the folder until then
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #tellFront(): void {
    if (this.#front) this.#front.targets = this.#members.map(({ url }) => url)
  }

  #words(folder: string, { port, adminPort }: Ports): Words {
    const behind = { server: this.server, url: this.#http?.url, env: this.#serverEnv(), adminPort }
    return {
      ...wordsOf(behind, folder, this.#command.file),
      PORT: String(port),
      FRONT: String(this.#front?.port),
      KEYS: this.#keys,
      DATABASE: this.#database,
    }
  }

  #serverEnv(): Record<string, string> {
    const { store, isServer } = this.#command
    return {
      EFFECTS: this.#effects.path,
      PANNIER_KEYS: this.#keys,
      ...(store && { STORE: store === 'sqlite' ? join(this.#folder, 'carried') : this.#database }),
      // A gateway brings back what it is given. Without it, clients of the session era bring nothing back.
      ...(store && !isServer && { CARRY: 'store' }),
      ...(this.#lines && { MATRIX_LINES: this.#linesPath }),
    }
  }

  #env(): Record<string, string> {
    const { PATH = '', HOME = '' } = process.env
    return { PATH, HOME, ...quickStart, PANNIER_LOG_LEVEL: 'silent', ...this.#serverEnv() }
  }
}
