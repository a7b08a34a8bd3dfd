/** The files of the guide "Behind a load balancer", with calls that wait through rolling restarts. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { call, type ClientKind, CLIENTS, connectClient } from '../gateway/fixtures/gateways.ts'
import { commandOf } from '../interop/fixtures/instances.ts'
import { startBalancer } from '../survival/balancer.ts'
import { freePort } from '../fixtures/httpHost.ts'
import { hasNginx, startNginx } from './fixtures/nginx.ts'

const NGINX = 'examples/balancers/nginx.conf'
const HAPROXY = 'examples/balancers/haproxy.cfg'
const HOSTS = ['10.0.0.5:3000', '10.0.0.6:3000']
const PROGRAM = fileURLToPath(new URL('programs/waiting.ts', import.meta.url))
/** More in its long form than a question may be asked. */
const RESTARTS = 3

type Front = (ports: readonly number[]) => Promise<string>

/** The file of a guide, with the instances of this test in place of its own. */
function fileOf(name: string, ports: readonly number[]): string {
  const text = readFileSync(name, 'utf8')
  return HOSTS.reduce((file, host, at) => file.replace(host, `127.0.0.1:${ports[at]}`), text)
}

const nginx: Front = (ports) => startNginx(fileOf(NGINX, ports), (end) => onTestFinished(() => void end()))

const haproxy: Front = async (ports) => {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-haproxy-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const port = await freePort()
  writeFileSync(join(folder, 'haproxy.cfg'), fileOf(HAPROXY, ports).replace(':8080', `127.0.0.1:${port}`))
  const child = spawn('haproxy', ['-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return `http://127.0.0.1:${port}`
}

/** Stands for a program that is not installed. */
const plain: Front = async (ports) => {
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  balancer.targets = ports.map((port) => `http://127.0.0.1:${port}/mcp`)
  return new URL(balancer.url).origin
}

const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0
const FRONTS: Readonly<Record<string, Front>> = {
  [NGINX]: hasNginx() ? nginx : plain,
  [HAPROXY]: hasHaproxy ? haproxy : plain,
}

interface Instance {
  stop(): Promise<void>
}

async function startInstance(port: number, peers: readonly number[]): Promise<Instance> {
  const { command, args, env } = commandOf(PROGRAM)
  const own = { PORT: String(port), PANNIER_PEERS: peers.map((peer) => `http://127.0.0.1:${peer}`).join(',') }
  const child = spawn(command, args, { env: { ...env, ...own }, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  for await (const _ of createInterface(child.stdout)) break
  return {
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

interface Answering {
  setRequestHandler(question: unknown, answer: () => Promise<object>): void
}

/** Calls a tool whose question is answered when `answer` resolves. */
async function begin(kind: ClientKind, url: string, answer: Promise<void>): Promise<{ result: Promise<string> }> {
  const asked = Promise.withResolvers<void>()
  const client = await connectClient(kind, url)
  const question = kind === 'v1' ? ElicitRequestSchema : 'elicitation/create'
  const answering = client as unknown as Answering
  answering.setRequestHandler(question, async () => {
    asked.resolve()
    await answer
    return { action: 'accept', content: { name: 'Ann' } }
  })
  const result = call(client, 'order')
  await asked.promise
  return { result }
}

test.each(Object.keys(FRONTS))(
  'behind %s no waiting call is lost when both instances are restarted, one right after the other',
  async (file) => {
    const ports = [await freePort(), await freePort()]
    const instances = await Promise.all(ports.map((port) => startInstance(port, ports)))
    const origin = await FRONTS[file]!(ports)
    await vi.waitFor(async () => expect((await fetch(`${origin}/mcp`)).status).toBe(406))
    const answer = Promise.withResolvers<void>()
    const kinds = [...CLIENTS, ...CLIENTS, ...CLIENTS]
    const calls = await Promise.all(kinds.map((kind) => begin(kind, `${origin}/mcp`, answer.promise)))
    for (let time = 0; time < RESTARTS; time++) {
      for (const [at, port] of ports.entries()) {
        await instances[at]!.stop()
        instances[at] = await startInstance(port, ports)
      }
    }
    answer.resolve()
    const texts = await Promise.all(calls.map(({ result }) => result))
    expect(texts).toEqual(kinds.map(() => 'For Ann.'))
  },
  120_000,
)
