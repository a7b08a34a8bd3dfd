/** Gateways as processes behind a plain balancer, the servers behind them, and every way between them through a tap. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { newKey } from 'pannier/state'
import { quickStart } from '../bundle/environment.ts'
import { type OnPassing, type Passing, startTap, type Tap } from './tap.ts'

/** The servers behind the gateways, by their names there. */
export const SERVERS = ['ours', 'http', 'stdio'] as const

export type ServerName = (typeof SERVERS)[number]

/** How a gateway is started that serves a file at a port: a command line, in which FILE and PORT are replaced. */
export interface GatewayCommand {
  readonly command: string
  readonly args: readonly string[]
}

const ORPHANS_END_WITHIN_MS = 20_000

interface Member {
  readonly child: ChildProcess
  readonly url: string
  readonly tap: Tap
}

const program = (name: string): string => fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url))
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export const PANNIER: GatewayCommand = {
  command: process.execPath,
  args: ['--conditions=pannier-source', main, 'gateway', 'FILE', '--port', 'PORT'],
}

/** What a run that fails would leave behind. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

function noted(child: ChildProcess): void {
  running.add(child)
  child.once('exit', () => running.delete(child))
}

export class Replicas {
  /** Told of each message before it goes on. */
  onPassing: OnPassing = () => undefined
  readonly #folder = mkdtempSync(join(tmpdir(), 'pannier-matrix-'))
  readonly #keys = newKey()
  readonly #command: GatewayCommand
  readonly #servers = new Map<ServerName, { child: ChildProcess; readonly tap: Tap; readonly port: number }>()
  #members: Member[] = []
  #front: Tap | undefined
  #starting: Promise<void> | undefined

  private constructor(command: GatewayCommand) {
    this.#command = command
    writeFileSync(this.#effects, '')
  }

  static async start(count: number, command = PANNIER): Promise<Replicas> {
    const replicas = new Replicas(command)
    replicas.#front = await startTap('client', (passing) => replicas.onPassing(passing))
    replicas.#tellFront()
    await Promise.all([replicas.#serve('ours', 'ourServer'), replicas.#serve('http', 'sdkServer')])
    replicas.#writeFile()
    await Promise.all(Array.from({ length: count }, () => replicas.#add()))
    return replicas
  }

  get url(): string {
    return `http://127.0.0.1:${this.#front?.port}/mcp`
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

  /** What the servers' tools have done, as lines. */
  effectsOf(key: string): { readonly what: string; readonly pid: number }[] {
    return readFileSync(this.#effects, 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .filter(([, of]) => of === key)
      .map(([what = '', , pid]) => ({ what, pid: Number(pid) }))
  }

  async #add(): Promise<void> {
    const tap = await startTap('gateways', (passing) => this.onPassing(passing))
    const { command, args } = this.#command
    const given = args.map((arg) => arg.replace('FILE', this.#file).replace('PORT', '0'))
    const child = spawn(command, given, {
      env: {
        ...this.#env(),
        PANNIER_ADVERTISE: `http://127.0.0.1:${tap.port}`,
        // So that they know each other before a client makes them meet.
        PANNIER_PEERS: `http://127.0.0.1:${this.#front?.port}`,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    noted(child)
    // It looks at once whether the address leads to it that it tells the others.
    const url = await this.#started(child, (serving) => (tap.targets = [serving]))
    this.#members.push({ child, url, tap })
    this.#tellFront()
  }

  /** Kills a gateway, at once, and the balancer finds out by itself. Another one is started in its place. */
  async kill(url: string): Promise<void> {
    const member = this.#members.find((each) => each.url === url)
    if (member === undefined) return
    this.#members = this.#members.filter((each) => each !== member)
    await kill(member.child)
    member.tap.targets = []
    this.#tellFront()
    this.#starting = this.#add()
  }

  /** Kills the process of a server that works on this call. */
  async killServer(name: ServerName, key: string): Promise<void> {
    const server = this.#servers.get(name)
    if (server !== undefined) {
      await kill(server.child)
      server.child = (await this.#spawnServer(name, server.port)).child
      return
    }
    const pid = this.effectsOf(key).at(-1)?.pid
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  }

  /** Resolves when there are as many gateways as before. */
  async mended(): Promise<void> {
    await this.#starting
  }

  /** The processes of servers on standard input and output whose gateway is gone, and that do not end with it soon. */
  async orphans(): Promise<number> {
    for (const began = performance.now(); performance.now() - began < ORPHANS_END_WITHIN_MS; await sleep(50))
      if (this.#orphans() === 0) return 0
    return this.#orphans()
  }

  #orphans(): number {
    const parents = new Set(this.#members.map(({ child }) => child.pid ?? 0))
    return readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .filter((pid) => isOrphan(pid, this.#effects, parents)).length
  }

  async stop(): Promise<void> {
    await this.#starting
    this.#front?.close()
    for (const { tap, child } of this.#members) {
      tap.close()
      await kill(child)
    }
    for (const { tap, child } of this.#servers.values()) {
      tap.close()
      await kill(child)
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #tellFront(): void {
    if (this.#front) this.#front.targets = this.#members.map(({ url }) => url)
  }

  async #started(child: ChildProcess, onServing: (url: string) => void): Promise<string> {
    let said = ''
    if (child.stderr)
      for await (const line of createInterface(child.stderr)) {
        said += `${line}\n`
        const url = /Serving (http:\/\/[^/]+)/.exec(said)?.[1]
        if (url !== undefined) onServing(url)
        if (url !== undefined && /^\/mcp: \d+ tools/m.test(said)) return url
      }
    throw new Error(`A gateway did not start:\n${said}`)
  }

  async #serve(name: ServerName, file: string): Promise<void> {
    const tap = await startTap('servers', (passing: Passing) => this.onPassing(passing))
    const { child, port } = await this.#spawnServer(name, 0, file)
    tap.targets = [`http://127.0.0.1:${port}`]
    this.#servers.set(name, { child, tap, port })
  }

  async #spawnServer(name: ServerName, port: number, file = name === 'ours' ? 'ourServer' : 'sdkServer') {
    const child = spawn(process.execPath, ['--conditions=pannier-source', program(file), '--http'], {
      env: { ...this.#env(), PORT: String(port) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    noted(child)
    for await (const line of createInterface(child.stdout)) return { child, port: Number(line) }
    throw new Error(`The server "${name}" did not start.`)
  }

  #writeFile(): void {
    const http = (name: ServerName) => `http://127.0.0.1:${this.#servers.get(name)?.tap.port}/mcp`
    const stdio = { command: process.execPath, args: ['--conditions=pannier-source', program('sdkServer')] }
    const mcpServers = {
      ours: { url: http('ours'), pannier: { state: 'stateless' } },
      http: { url: http('http'), pannier: { state: 'stateful' } },
      stdio: { ...stdio, env: { ...quickStart, EFFECTS: this.#effects }, pannier: { state: 'stateful' } },
    }
    writeFileSync(this.#file, JSON.stringify({ mcpServers, gateway: { admin: false } }))
  }

  #env(): Record<string, string> {
    const { PATH = '' } = process.env
    return { PATH, ...quickStart, PANNIER_KEYS: this.#keys, PANNIER_LOG_LEVEL: 'silent', EFFECTS: this.#effects }
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Whether it is a process of a server on standard input and output whose parent is none of these. */
function isOrphan(pid: string, effects: string, parents: ReadonlySet<number>): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    if (!command.includes(program('sdkServer')) || command.includes('--http')) return false
    if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(effects)) return false
    const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]
    return !parents.has(Number(parent))
  } catch {
    return false // it has ended
  }
}
