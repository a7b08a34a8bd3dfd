/**
 * The process of a server over HTTP, behind a tap. When it was killed it is started again, at the same port. When it is stopped,
 * requests go to another one that was started before, as in a rolling restart.
 */
import type { ChildProcess } from 'node:child_process'
import type { OnPassing } from './passing.ts'
import { newPort } from './ports.ts'
import { kill, readUntil, start } from './processes.ts'
import { commandLine, type ServerKind } from './servers.ts'
import { startTap, type Tap } from './tap.ts'

export class HttpServer {
  readonly #kind: ServerKind
  readonly #env: Readonly<Record<string, string>>
  readonly #tap: Tap
  #child: ChildProcess | undefined
  #port: number

  private constructor(kind: ServerKind, env: Readonly<Record<string, string>>, tap: Tap, port: number) {
    this.#kind = kind
    this.#env = env
    this.#tap = tap
    this.#port = port
  }

  static async start(
    kind: ServerKind,
    env: Readonly<Record<string, string>>,
    onPassing: OnPassing,
  ): Promise<HttpServer> {
    const tap = await startTap({ way: 'gateway ↔ server', onPassing, isBalancer: false })
    const server = new HttpServer(kind, env, tap, await newPort())
    await server.#spawn()
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${this.#tap.port}/mcp`
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  async kill(): Promise<void> {
    if (this.#child !== undefined) await kill(this.#child)
    this.#tap.close()
  }

  async restart(): Promise<void> {
    await this.#spawn()
    await this.#tap.reopen()
  }

  /** Gives the process that ends now. */
  async replace(): Promise<ChildProcess | undefined> {
    const old = this.#child
    this.#port = await newPort()
    await this.#spawn()
    old?.kill('SIGTERM')
    return old
  }

  async #spawn(): Promise<void> {
    const { command, args } = commandLine(this.#kind)
    this.#child = start(command, [...args, '--http'], {
      env: { ...this.#env, PORT: String(this.#port) },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    await readUntil(this.#child.stdout, (said) => Number(said) === this.#port || undefined)
    this.#tap.targets = [`http://127.0.0.1:${this.#port}`]
  }
}
