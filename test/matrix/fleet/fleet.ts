/** Gateways as processes behind a plain balancer, one server behind them, and every way between them through a tap. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { newKey } from 'pannier/state'
import { quickStart } from '../../bundle/environment.ts'
import { anyGateway, freePort, type GatewayCommand, ourGateway, PANNIER } from './gateways.ts'
import { type LineTap, startLineTap } from './lineTap.ts'
import type { OnPassing } from './passing.ts'
import { kill, orphansOf, readUntil, start } from './processes.ts'
import { commandLine, KINDS, type ServerKind, type ServerName } from './servers.ts'
import { startTap, type Tap } from './tap.ts'
import { reachesServer, readVitals, type Vitals } from './vitals.ts'

interface Member {
  readonly child: ChildProcess
  readonly url: string
  readonly admin: string | undefined
  readonly tap: Tap
}

/** One line of the file of effects. */
export interface Effect {
  readonly what: string
  readonly pid: number
}

const VITALS = fileURLToPath(new URL('vitals.cjs', import.meta.url))
const ORPHANS_END_WITHIN_MS = 60_000
/** Processes and sessions that nobody uses end soon, and calls that nobody answers, so that what is left is left for good. */
const IDLE_SECONDS = 5
const PARK_SECONDS = 20

export class Fleet {
  readonly server: ServerName
  /** Told of each message before it goes on. */
  onPassing: OnPassing = () => undefined
  readonly #folder = mkdtempSync(join(tmpdir(), 'pannier-matrix-'))
  readonly #keys = newKey()
  readonly #command: GatewayCommand
  readonly #kind: ServerKind
  #http: { child: ChildProcess; readonly tap: Tap; readonly port: number } | undefined
  #lines: LineTap | undefined
  #members: Member[] = []
  #front: Tap | undefined
  #starting: Promise<unknown> | undefined
  #effectsRead = 0
  readonly #effectsBy = new Map<string, Effect[]>()

  private constructor(server: ServerName, command: GatewayCommand) {
    this.server = server
    this.#kind = KINDS[server]
    this.#command = command
    writeFileSync(this.#effects, '')
  }

  static async start(server: ServerName, command = PANNIER): Promise<Fleet> {
    const fleet = new Fleet(server, command)
    const onPassing: OnPassing = (passing) => fleet.onPassing(passing)
    fleet.#front = await startTap({ way: 'client ↔ gateway', onPassing, isBalancer: true })
    fleet.#tellFront()
    if (fleet.#kind.isProcess) fleet.#lines = await startLineTap(fleet.#linesPath, onPassing)
    else await fleet.#serve(onPassing)
    fleet.#writeFile()
    await Promise.all(Array.from({ length: command.replicas ?? 2 }, () => fleet.#add()))
    return fleet
  }

  get url(): string {
    return `http://127.0.0.1:${this.#front?.port}${this.#command.path ?? '/mcp'}`
  }

  /** The name of a tool at the gateways. */
  toolName(tool: string): string {
    return `${(this.#command.prefix ?? 'SERVER_').replace('SERVER', this.server)}${tool}`
  }

  /** The addresses of the gateways. */
  get addresses(): readonly string[] {
    return this.#members.map(({ url }) => url)
  }

  get #effects(): string {
    return join(this.#folder, 'effects')
  }

  get #file(): string {
    return join(this.#folder, 'mcp.json')
  }

  get #linesPath(): string {
    return join(this.#folder, 'lines')
  }

  /** What the server's tools have done for a key. */
  effectsOf(key: string): readonly Effect[] {
    const text = readFileSync(this.#effects, 'utf8').slice(this.#effectsRead)
    this.#effectsRead += text.lastIndexOf('\n') + 1
    for (const line of text.split('\n').slice(0, -1)) {
      const [what = '', of = '', pid] = line.split(' ')
      this.#effectsBy.set(of, [...(this.#effectsBy.get(of) ?? []), { what, pid: Number(pid) }])
    }
    return this.#effectsBy.get(key) ?? []
  }

  async #add(): Promise<void> {
    const onPassing: OnPassing = (passing) => this.onPassing(passing)
    const tap = await startTap({ way: 'gateway ↔ gateway', onPassing, isBalancer: false })
    const { command, args, isOurs, path = '/mcp' } = this.#command
    const port = isOurs ? 0 : await freePort()
    const child = start(command, this.#filled(args, port), {
      env: {
        ...this.#env(),
        NODE_OPTIONS: `${quickStart.NODE_OPTIONS} --require=${JSON.stringify(VITALS)}`.trim(),
        MATRIX_VITALS: this.#folder,
        PANNIER_ADVERTISE: `http://127.0.0.1:${tap.port}`,
        // So that they know each other before a client makes them meet.
        PANNIER_PEERS: `http://127.0.0.1:${this.#front?.port}`,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    // It looks at once whether the address leads to it that it tells the others.
    const started = isOurs
      ? await ourGateway(child, (serving) => (tap.targets = [serving]))
      : await anyGateway(child, `http://127.0.0.1:${port}${path}`)
    const url = new URL(started.url).origin
    this.#members.push({ child, url, admin: started.admin, tap })
    this.#tellFront()
  }

  /** Kills a gateway, at once, and the balancer finds out by itself. Another one is started in its place. */
  async kill(url: string): Promise<void> {
    const member = this.#members.find((each) => each.url === url)
    if (member === undefined) return
    this.#members = this.#members.filter((each) => each !== member)
    await kill(member.child)
    member.tap.close()
    this.#tellFront()
    this.#starting = this.#add()
    this.#starting.catch(() => {}) // `mended` tells
  }

  /** Kills the process of the server that works on this call, or the newest one. One over HTTP is started again. */
  async killServer(pid: number | undefined): Promise<void> {
    const http = this.#http
    if (http !== undefined) {
      await kill(http.child)
      http.tap.close()
      this.#starting = this.#restart(http)
      this.#starting.catch(() => {})
      return
    }
    const victim = pid ?? this.#lines?.processes.at(-1)
    if (victim !== undefined && this.#lines?.processes.includes(victim)) process.kill(victim, 'SIGKILL')
  }

  async #restart(http: { child: ChildProcess; readonly tap: Tap; readonly port: number }): Promise<void> {
    http.child = (await this.#spawnServer(http.port)).child
    await http.tap.reopen()
  }

  /** Cuts a client off. */
  dropClient(name: string): void {
    this.#front?.drop(name)
  }

  /** Resolves when there are as many processes as before, and gateways reach their server. */
  async mended(): Promise<void> {
    await this.#starting
    const admins = this.#members.flatMap(({ admin }) => admin ?? [])
    await Promise.all(admins.map(reachesServer))
  }

  /** What the gateways hold that are there now. */
  vitals(): Promise<readonly Vitals[]> {
    return Promise.all(this.#members.map(({ child, admin }) => readVitals(this.#folder, child.pid ?? 0, admin)))
  }

  /** Processes that belong to nobody any more, and do not end within a minute. */
  async orphans(): Promise<number> {
    const count = (): number => {
      const known = [...this.#members.map(({ child }) => child.pid), this.#http?.child.pid, process.pid]
      return orphansOf(this.#folder, new Set(known.map((pid) => pid ?? 0))).length
    }
    for (const began = performance.now(); performance.now() - began < ORPHANS_END_WITHIN_MS; await sleep(250))
      if (count() === 0) return 0
    return count()
  }

  async stop(): Promise<void> {
    await this.#starting?.catch(() => {})
    this.#front?.close()
    for (const { tap, child } of this.#members) {
      tap.close()
      await kill(child)
    }
    if (this.#http !== undefined) {
      this.#http.tap.close()
      await kill(this.#http.child)
    }
    this.#lines?.close()
    await sleep(100) // processes of a server end with their input, and write to the folder until then
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #tellFront(): void {
    if (this.#front) this.#front.targets = this.#members.map(({ url }) => url)
  }

  #filled(args: readonly string[], port: number): string[] {
    const { command, args: rest } = commandLine(this.#kind)
    const line = [command, ...rest]
    const url = `http://127.0.0.1:${this.#http?.tap.port}/mcp`
    return args.flatMap((arg) =>
      arg === 'COMMAND'
        ? line
        : [
            arg
              .replace('FILE', this.#file)
              .replace('PORT', String(port))
              .replace('URL', url)
              .replace('LINE', line.map((part) => JSON.stringify(part)).join(' ')),
          ],
    )
  }

  async #serve(onPassing: OnPassing): Promise<void> {
    const tap = await startTap({ way: 'gateway ↔ server', onPassing, isBalancer: false })
    const { child, port } = await this.#spawnServer(0)
    tap.targets = [`http://127.0.0.1:${port}`]
    this.#http = { child, tap, port }
  }

  async #spawnServer(port: number): Promise<{ child: ChildProcess; port: number }> {
    const { command, args } = commandLine(this.#kind)
    const child = start(command, [...args, '--http'], {
      env: { ...this.#env(), PORT: String(port) },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return { child, port: await readUntil(child.stdout, (said) => Number(said) || undefined) }
  }

  #writeFile(): void {
    const { isProcess, state } = this.#kind
    const pannier = { state, idleSeconds: IDLE_SECONDS, parkSeconds: PARK_SECONDS }
    const entry = isProcess
      ? { ...commandLine(this.#kind), env: { ...quickStart, ...this.#serverEnv() } }
      : { url: `http://127.0.0.1:${this.#http?.tap.port}/mcp` }
    const mcpServers = { [this.server]: { ...entry, pannier } }
    writeFileSync(this.#file, JSON.stringify({ mcpServers, gateway: { admin: { port: 0 } } }))
  }

  #serverEnv(): Record<string, string> {
    return { EFFECTS: this.#effects, PANNIER_KEYS: this.#keys, ...(this.#lines && { MATRIX_LINES: this.#linesPath }) }
  }

  #env(): Record<string, string> {
    const { PATH = '', HOME = '' } = process.env
    return { PATH, HOME, ...quickStart, PANNIER_LOG_LEVEL: 'silent', ...this.#serverEnv() }
  }
}
