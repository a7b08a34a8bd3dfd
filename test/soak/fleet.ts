/** One gateway, as a process, before a server of each era and transport, with callers who have tokens. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { newKey } from 'pannier/state'
import { quickStart } from '../bundle/environment.ts'
import { ourGateway, PANNIER } from '../matrix/fleet/gateways.ts'
import { newPort } from '../matrix/fleet/ports.ts'
import { kill, readUntil, start } from '../matrix/fleet/processes.ts'
import { commandLine, KINDS, type ServerName } from '../matrix/fleet/servers.ts'
import { readVitals, type Vitals } from '../matrix/fleet/vitals.ts'

/** One of each era and transport that the gateway handles in its own way. */
export const BEHIND = ['ours', 'v1', 'v1-stdio'] as const satisfies readonly ServerName[]

const VITALS = fileURLToPath(new URL('../matrix/fleet/vitals.cjs', import.meta.url))
/** `kill -PROF` makes the gateway write a heap snapshot. */
const SNAPSHOT_OPTIONS = ['--heapsnapshot-signal=SIGPROF', `--diagnostic-dir=${JSON.stringify(tmpdir())}`]
const AUDIENCE = 'http://127.0.0.1/mcp'
const TOKEN_LIFE = '1h'
/** Idle processes, sessions and unanswered calls end within a fraction of the shortest soak. */
const SERVER_SETTINGS = { idleSeconds: 5, parkSeconds: 20 }

/** Signs the tokens of callers. */
class Issuer {
  readonly #server: Server
  readonly #port: number
  readonly #key: CryptoKey

  private constructor(server: Server, port: number, key: CryptoKey) {
    this.#server = server
    this.#port = port
    this.#key = key
  }

  static async start(): Promise<Issuer> {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig' }] })
    const server = createServer((_, res) => res.setHeader('content-type', 'application/json').end(jwks))
    const port = await newPort()
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return new Issuer(server, port, privateKey)
  }

  get settings() {
    const issuer = `http://127.0.0.1:${this.#port}`
    return { issuer, audience: AUDIENCE, jwks: `${issuer}/jwks` }
  }

  token(principal: string): Promise<string> {
    return new SignJWT()
      .setProtectedHeader({ alg: 'ES256' })
      .setSubject(principal)
      .setIssuer(this.settings.issuer)
      .setAudience(AUDIENCE)
      .setIssuedAt()
      .setExpirationTime(TOKEN_LIFE)
      .setJti(crypto.randomUUID())
      .sign(this.#key)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

export class SoakFleet {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pannier-soak-'))
  readonly #keys = newKey()
  readonly #servers: ChildProcess[] = []
  readonly #issuer: Issuer
  #gateway: ChildProcess | undefined
  #url = ''
  #admin: string | undefined

  private constructor(issuer: Issuer) {
    this.#issuer = issuer
  }

  static async start(): Promise<SoakFleet> {
    const fleet = new SoakFleet(await Issuer.start())
    await fleet.#startGateway(await fleet.#entries())
    return fleet
  }

  get url(): string {
    return `${this.#url}/mcp`
  }

  get pid(): number {
    return this.#gateway?.pid ?? 0
  }

  get hasEnded(): boolean {
    return this.#gateway?.exitCode !== null || this.#gateway.signalCode !== null
  }

  token(principal: string): Promise<string> {
    return this.#issuer.token(principal)
  }

  vitals(): Promise<Vitals> {
    return readVitals(this.#folder, this.pid, this.#admin)
  }

  async stop(): Promise<void> {
    this.#issuer.close()
    for (const child of [this.#gateway, ...this.#servers]) if (child !== undefined) await kill(child)
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #entries(): Promise<Record<string, unknown>> {
    const entries: Record<string, unknown> = {}
    for (const name of BEHIND) {
      const kind = KINDS[name]
      const pannier = { state: kind.state, ...SERVER_SETTINGS }
      const env = this.#serverEnv(name)
      entries[name] = kind.isProcess
        ? { ...commandLine(kind), env, pannier }
        : { url: await this.#startServer(name), pannier }
    }
    return entries
  }

  async #startServer(name: ServerName): Promise<string> {
    const { command, args } = commandLine(KINDS[name])
    const port = await newPort()
    const child = start(command, [...args, '--http'], {
      env: { ...this.#serverEnv(name), PORT: String(port) },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    this.#servers.push(child)
    await readUntil(child.stdout, (said) => Number(said) === port || undefined)
    return `http://127.0.0.1:${port}/mcp`
  }

  #serverEnv(name: ServerName): Record<string, string> {
    return { ...this.#env(), EFFECTS: join(this.#folder, `effects-${name}`) }
  }

  async #startGateway(mcpServers: Record<string, unknown>): Promise<void> {
    const file = join(this.#folder, 'mcp.json')
    const gateway = { admin: { port: await newPort() }, principal: this.#issuer.settings }
    writeFileSync(file, JSON.stringify({ mcpServers, gateway }))
    const port = String(await newPort())
    const args = PANNIER.args.map((arg) => ({ FILE: file, PORT: port })[arg] ?? arg)
    const options = [quickStart.NODE_OPTIONS, `--require=${JSON.stringify(VITALS)}`, ...SNAPSHOT_OPTIONS]
    const env = { ...this.#env(), NODE_OPTIONS: options.join(' ').trim(), MATRIX_VITALS: this.#folder }
    this.#gateway = start(PANNIER.command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    const { url, admin } = await ourGateway(this.#gateway)
    this.#url = url
    this.#admin = admin
  }

  #env(): Record<string, string> {
    const { PATH = '', HOME = '' } = process.env
    return { PATH, HOME, ...quickStart, PANNIER_LOG_LEVEL: 'silent', PANNIER_KEYS: this.#keys }
  }
}
