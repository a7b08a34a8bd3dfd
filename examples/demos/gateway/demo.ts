/**
 * `npm run demo -- gateway`: three servers of the official SDKs, a program and two addresses, of both eras, behind one
 * endpoint; and official clients of both eras that use all of them there, and are asked.
 */
import { spawn } from 'node:child_process'
import { createServer as createHost, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createSocket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createGateway, type Gateway, gatewayConfigOf } from 'pannier/gateway'
import { newKey } from 'pannier/state'
import { headline, note, say } from '../../work-items/show.ts'
import { formatJson } from '../formatJson.ts'

/** What a gateway logs of its servers, as lines; the program `pannier gateway` writes JSON. */
const logger = { debug() {}, info: logged('info'), warn: logged('warn'), error: logged('error') }

function logged(level: string) {
  return (details: unknown, message: string): void => {
    const { server, state, why } = details as Partial<Record<string, string>>
    if (state === undefined) return
    note(`  ${level.padEnd(5)} ${String(server).padEnd(9)} ${state.padEnd(10)} ${message}`)
    note(`  ${' '.repeat(26)} ${why}`)
  }
}
const me = { name: 'demo', version: '1.0.0' }
const capabilities = { elicitation: { form: {} } }

const DAY_MS = 86_400_000

const CALLS = [
  { name: 'weather_get_weather', arguments: { city: 'Oslo', country: 'NO' } },
  { name: 'releases_deploy', arguments: { env: 'staging' } },
  { name: 'events_create_event', arguments: {} },
]

/** What the person answers, whichever form is shown. */
const ANSWER = {
  action: 'accept' as const,
  content: { sure: true, title: 'Harvest', date: '2026-09-21', startTime: '18:00', duration: 90 },
}

/** Gives the gateway, which still serves. */
export async function gatewayDemo(): Promise<Gateway> {
  headline('A gateway: three servers of both eras at one endpoint, for clients of both eras')
  say()
  headline('Its log at the start ("Probe all backends"): the verdict on each server, and a warning of a stateful one')
  process.env['PANNIER_KEYS'] ??= newKey()
  const [releases, events] = await Promise.all([startReleases(), startEvents()])
  const gateway = createGateway({ ...(await configFor(releases, events)), logger })
  const { url } = await gateway.listen({ drainOnTerm: false })
  await gateway.judged()
  note('  document  … is stateful - may not work correctly through gateway')
  note('  document  Consider using direct stdio connection for full functionality')
  note(
    '  here      It works: each caller has a process or a session of their own. It may be lost, so the advice is the same.',
  )
  say()
  showServers(gateway)
  say()
  showHealth(gateway)
  say()
  await useAll('2025-11-25, in a session', await connectV1(url))
  say()
  await useAll('2026-07-28, stateless', await connectV2(url))
  say()
  say('Shown: each client saw one server of its own revision. The questions of a server of 2026-07-28 were asked in')
  say(
    'the session, and those of a server with sessions came to the stateless client as results. What each server needs',
  )
  say('was found by probing, and decides who shares a process or a session with whom.')
  say('Read next: examples/demos/gateway/demo.ts, and docs/how-to/gateway.md.')
  return gateway
}

/** Prints where the console shows all of it, until Ctrl-C. */
export async function staying(gateway: Gateway): Promise<never> {
  const admin = await gateway.listenAdmin()
  say()
  say(`Console: ${admin?.console}`)
  say('It stays until Ctrl-C.')
  return new Promise(() => setInterval(() => {}, DAY_MS))
}

/** What would stand in mcp.json. */
function configFor(releases: string, events: string) {
  return gatewayConfigOf({
    gateway: { admin: { port: 0 } },
    mcpServers: {
      weather: { command: process.execPath, args: [exampleOf('mcpServerOutputSchema')] },
      releases: { url: releases },
      events: { url: events },
    },
  })
}

/** An example of the official SDK. */
function exampleOf(name: string): string {
  return fileURLToPath(import.meta.resolve(`@modelcontextprotocol/sdk/examples/server/${name}.js`))
}

/** A server of the SDK for 2026-07-28, in this process. */
async function startReleases(): Promise<string> {
  const { handler } = await import('../../official-sdk/server.ts')
  const answer = toNodeHandler(handler) as (req: IncomingMessage, res: ServerResponse) => Promise<void>
  const host = createHost((req, res) => void answer(req, res))
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`
}

/** A server of the session era, whose tools ask. It ends with the demo. */
async function startEvents(): Promise<string> {
  const port = await freePort()
  const env = { ...process.env, PORT: String(port) }
  const child = spawn(process.execPath, [exampleOf('elicitationFormExample')], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  process.on('exit', () => child.kill('SIGKILL'))
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve)
    child.once('exit', () => reject(new Error('the example of the SDK did not start.')))
  })
  return `http://localhost:${port}/mcp`
}

async function freePort(): Promise<number> {
  const socket = createSocket()
  await new Promise<void>((resolve) => socket.listen(0, resolve))
  const { port } = socket.address() as AddressInfo
  await new Promise((resolve) => socket.close(resolve))
  return port
}

function showHealth(gateway: Gateway): void {
  headline('Its health, which the admin address serves at /health')
  say(formatJson(gateway.report().health, '  '))
}

function showServers({ backends }: Gateway): void {
  headline('Its servers')
  for (const { name, config, connector, prober, lists } of backends) {
    const where = 'command' in config.address ? 'a program' : 'an address'
    const tools = lists.latest.tools.map((tool) => String(tool['name'])).join(', ')
    say(
      `  ${name.padEnd(9)} ${where.padEnd(10)}  ${connector.about?.version ?? 'not there'}  ${(prober.verdict?.state ?? '').padEnd(9)}  ${tools}`,
    )
  }
}

/** The part of both official clients that is used here. */
interface DemoClient {
  readonly questions: string[]
  listTools(): Promise<{ tools: unknown[] }>
  callTool(call: (typeof CALLS)[number]): Promise<{ content?: unknown }>
  close(): Promise<void>
}

async function connectV1(url: string): Promise<DemoClient> {
  const questions: string[] = []
  const client = new ClientV1(me, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    questions.push(params.message)
    return ANSWER
  })
  await client.connect(new HttpV1(new URL(url)))
  return Object.assign(client, { questions }) as unknown as DemoClient
}

async function connectV2(url: string): Promise<DemoClient> {
  const questions: string[] = []
  const client = new ClientV2(me, { capabilities, versionNegotiation: { mode: 'auto' } })
  client.setRequestHandler('elicitation/create', ({ params }) => {
    questions.push(params.message)
    return ANSWER
  })
  await client.connect(new HttpV2(new URL(url)))
  return Object.assign(client, { questions })
}

async function useAll(kind: string, client: DemoClient): Promise<void> {
  const { tools } = await client.listTools()
  headline(`A client of ${kind}: ${tools.length} tools at /mcp`)
  for (const call of CALLS) {
    client.questions.length = 0
    const { content } = await client.callTool(call)
    say(`  calls    ${call.name} ${JSON.stringify(call.arguments)}`)
    for (const question of client.questions) say(`  is asked ${question}`)
    say(`  gets     ${shortened(textOf(content).replaceAll(/\s+/g, ' '))}`)
  }
  await client.close()
}

function shortened(text: string): string {
  return text.length > 90 ? `${text.slice(0, 90)}…` : text
}

function textOf(content: unknown): string {
  const [first] = Array.isArray(content) ? (content as { text?: string }[]) : []
  return first?.text ?? ''
}
