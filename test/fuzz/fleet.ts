/** A gateway as a process, with servers behind it that do everything wrong, and two that do nothing wrong. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { newKey } from 'pannier/state'
import { quickStart } from '../bundle/environment.ts'
import { PANNIER } from '../matrix/fleet/gateways.ts'
import { newPort } from '../matrix/fleet/ports.ts'
import { kill, readUntil, start } from '../matrix/fleet/processes.ts'

const TURNS = fileURLToPath(new URL('turns.cjs', import.meta.url))
const program = (path: string): string[] => [
  '--conditions=pannier-source',
  fileURLToPath(new URL(path, import.meta.url)),
]
/** Short, so that much happens. */
const SETTINGS = { timeoutSeconds: 1, startSeconds: 3, listSeconds: 1, parkSeconds: 3, idleSeconds: 2, maxProcesses: 4 }
const MAX_SHOWN = 20_000
const GOOD: ReadonlySet<string> = new Set(['good', 'steady'])
const TRIES = 300
const TRY_MS = 100

export class FuzzFleet {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pannier-fuzz-'))
  readonly #seed: number
  readonly #keys = newKey()
  readonly #servers: ChildProcess[] = []
  #gateway: ChildProcess | undefined
  /** The end of what the gateway has written to standard error. */
  shown = ''
  url = ''
  admin = ''
  /** The names of those that do everything wrong. */
  hostile: readonly string[] = []

  private constructor(seed: number) {
    this.#seed = seed
  }

  static async start(seed: number): Promise<FuzzFleet> {
    const fleet = new FuzzFleet(seed)
    try {
      await fleet.#startGateway(await fleet.#entries())
    } catch (error) {
      await fleet.stop()
      throw error
    }
    return fleet
  }

  /** How the gateway has ended; undefined while it runs. */
  get ended(): string | undefined {
    const { exitCode, signalCode } = this.#gateway ?? {}
    if (exitCode === null && signalCode === null) return undefined
    return `the gateway ended with ${signalCode ?? `exit code ${exitCode}`}: ${this.shown.slice(-3000)}`
  }

  /** How long its event loop stood still at most, and how much memory it had then. */
  get turns(): { readonly worstMs: number; readonly rss: number } {
    try {
      return JSON.parse(readFileSync(join(this.#folder, String(this.#gateway?.pid)), 'utf8'))
    } catch {
      return { worstMs: 0, rss: 0 } // nothing was written yet
    }
  }

  async stop(): Promise<void> {
    for (const child of [this.#gateway, ...this.#servers]) if (child !== undefined) await kill(child)
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #entries(): Promise<Record<string, object>> {
    const good = await this.#startServer('programs/goodHttp.ts')
    const port = await this.#startServer('programs/hostileHttp.ts', String(this.#seed))
    const url = (path: string) => ({ url: `http://127.0.0.1:${port}/${path}` })
    const stdio = (at: number) => ({
      command: process.execPath,
      args: [...program('programs/hostileStdio.ts'), String(this.#seed + at)],
      env: this.#env(),
    })
    const hostile: Readonly<Record<string, object>> = {
      kept: { ...url('session/kept'), pannier: { ...SETTINGS, state: 'stateful' } },
      shared: { ...url('session/shared'), pannier: { ...SETTINGS, state: 'stateless' } },
      probed: { ...url('session/probed'), pannier: SETTINGS },
      pinned: { ...url('session/pinned'), pannier: { ...SETTINGS, definitions: 'pin' } },
      modern: { ...url('stateless/modern'), pannier: { ...SETTINGS, state: 'stateless' } },
      other: { ...url('stateless/other'), pannier: SETTINGS },
      old: { ...url('sse/old'), type: 'sse', pannier: { ...SETTINGS, state: 'stateful' } },
      process: { ...stdio(1), pannier: { ...SETTINGS, state: 'stateful' } },
      lines: { ...stdio(2), pannier: { ...SETTINGS, state: 'stateless' } },
    }
    this.hostile = Object.keys(hostile)
    const tools = { command: process.execPath, args: program('../gateway/programs/sdkTools.ts'), env: this.#env() }
    return {
      good: { url: good, pannier: { state: 'stateless' } },
      steady: { ...tools, pannier: { state: 'stateless' } },
      ...hostile,
    }
  }

  /** Gives the first line that it prints. */
  async #startServer(path: string, ...args: string[]): Promise<string> {
    const child = start(process.execPath, [...program(path), ...args], {
      env: this.#env(),
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#servers.push(child)
    return readUntil(child.stdout, (said) => said.split('\n', 1)[0])
  }

  async #startGateway(mcpServers: object): Promise<void> {
    const file = join(this.#folder, 'mcp.json')
    const gateway = { admin: { port: await newPort() } }
    writeFileSync(file, JSON.stringify({ mcpServers, gateway }))
    const words: Readonly<Record<string, string>> = { FILE: file, PORT: String(await newPort()) }
    const args = PANNIER.args.map((arg) => words[arg] ?? arg)
    const options = [quickStart.NODE_OPTIONS, `--require=${JSON.stringify(TURNS)}`].join(' ').trim()
    const env = { ...this.#env(), NODE_OPTIONS: options, FUZZ_TURNS: this.#folder, PANNIER_LOG_LEVEL: 'error' }
    this.#gateway = start(PANNIER.command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    this.#gateway.stderr?.on('data', (chunk: Buffer) => {
      this.shown = `${this.shown}${chunk.toString()}`.slice(-MAX_SHOWN)
    })
    this.url = await readUntil(this.#gateway.stderr, (said) => /Serving (http:\/\/\S+)/.exec(said)?.[1])
    this.admin = `http://127.0.0.1:${gateway.admin.port}`
    await this.#goodAreUp()
  }

  /** Those that do everything wrong may never be there. */
  async #goodAreUp(): Promise<void> {
    for (let tried = 0; tried < TRIES; tried++) {
      const servers = await this.#conditions().catch(() => [])
      if (servers.filter(({ name, condition }) => GOOD.has(name) && condition === 'up').length === GOOD.size) return
      await sleep(TRY_MS)
    }
    throw new Error(`The gateway does not serve its good servers: ${this.shown}`)
  }

  async #conditions(): Promise<readonly { readonly name: string; readonly condition: string }[]> {
    return (await (await fetch(`${this.admin}/servers`)).json()).servers
  }

  #env(): Record<string, string> {
    const { PATH = '', HOME = '' } = process.env
    return { PATH, HOME, ...quickStart, PANNIER_LOG_LEVEL: 'silent', PANNIER_KEYS: this.#keys }
  }
}
