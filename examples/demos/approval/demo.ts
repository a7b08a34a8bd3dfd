/**
 * `npm run demo -- approval`: a client that cannot be asked calls a destructive tool of a server that knows nothing of
 * approvals. The gateway lets the call wait, is killed, and another one continues it once a manager has approved.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer as createHost } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { createGateway } from 'pannier/gateway'
import { newKey } from 'pannier/state'
import { z } from 'zod'
import { type Instance, startInstance } from '../../work-items/fleet.ts'
import { event, headline, note, say } from '../../work-items/show.ts'
import { auditOf, configOf, personNamed, principal } from './gateway.ts'

export async function approvalDemo(folder: string): Promise<void> {
  headline('Approval by rule: a destructive call waits for a manager, and survives its gateway')
  note('The server is of the official SDK and knows nothing of approvals. The client declares no elicitation.')
  const deleted: string[] = []
  const files = await startFiles(deleted)
  const store = join(folder, 'questions.db')
  const keys = newKey()
  const env = { STORE: store, FILES: files, PANNIER_KEYS: keys }
  const start = (name: string) => startInstance({ name, program: join(import.meta.dirname, 'gateway.ts'), env })

  const a = await start('A')
  const waiting = await callAs('ann', a, { path: 'old.txt' })
  say(`  files that are deleted: ${deleted.length}`)
  await a.end('SIGKILL')
  say()
  event('Gateway A is killed (SIGKILL). No gateway is left; the call waits in the store.')

  say()
  headline('Another process: the list of a manager')
  const started = performance.now()
  await approve(files, store, keys)

  const b = await start('B')
  await callAs('ann', b, { path: 'old.txt' })
  say(`  files that are deleted: ${deleted.join(', ')}`)
  if (deleted.length !== 1 || waiting === undefined) throw new Error('the call was not sent exactly once.')
  note(`  ${Math.round(performance.now() - started)} ms after the approval began, with the start of gateway B`)
  await b.end('SIGTERM')
  say()
  headline('The audit log')
  showAudit(auditOf(store), keys)
  say()
  say('Shown: nothing was sent before the approval, and the call was sent once after it. The client only made the same')
  say('call again; the tool continue_call with the ticket does the same.')
  say('Read next: examples/demos/approval/gateway.ts, and docs/how-to/gateway-approvals.md.')
}

/** A server of the official SDK with a destructive tool. */
async function startFiles(deleted: string[]): Promise<string> {
  const host = createHost((req, res) => {
    const server = new McpServer({ name: 'files', version: '1.0.0' })
    const definition = {
      description: 'Deletes a file.',
      inputSchema: { path: z.string() },
      annotations: { destructiveHint: true },
    }
    server.registerTool('delete', definition, ({ path }) => {
      deleted.push(path)
      return { content: [{ type: 'text', text: `${path} is gone.` }] }
    })
    const transport = new StreamableHTTPServerTransport({})
    void server.connect(transport as Transport).then(() => transport.handleRequest(req, res))
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`
}

/** Calls the tool through a gateway, as an agent framework does. */
async function callAs(name: string, { url, name: gateway, child }: Instance, args: Record<string, unknown>) {
  const client = new Client({ name: 'agent', version: '1.0.0' })
  const requestInit = { headers: { authorization: `Bearer ${name}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  say()
  headline(`tools/call files_delete ${JSON.stringify(args)}, by ${name}, at gateway ${gateway}, process ${child.pid}`)
  const { content } = await client.callTool({ name: 'files_delete', arguments: args })
  const [first] = content as { text: string }[]
  for (const line of first?.text.split('\n') ?? []) say(`  gets     ${line}`)
  await client.close()
  return first?.text
}

// #region approve
/** A program of the manager. It shares the store with the gateways, and serves nothing. */
async function approve(files: string, store: string, keys: string): Promise<void> {
  const program = createGateway({ ...(await configOf(files, store)), principal, keys })
  const mia = personNamed('mia')
  const { questions } = await program.questions.open({ for: mia })
  for (const { id, tool, caller, message } of questions) {
    say(`  question ${tool}, called by ${caller}`)
    for (const line of message.split('\n')) say(`           ${line}`)
    await program.questions.answer(id, { approve: true }, mia)
    say('  answer   approve: true, by mia')
  }
  await program.drain()
}
// #endregion approve

/** What was decided, and by whom; and that no line was changed. */
function showAudit(folder: string, keys: string): void {
  const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  for (const { kind, name, caller, answeredBy, outcome } of entries.filter((entry) => entry['kind'] !== 'head')) {
    const { subject } = (answeredBy ?? caller) as { subject: string }
    say(`  ${String(kind).padEnd(10)} ${String(name).padEnd(8)} by ${subject}: ${String(outcome)}`)
  }
  const program = join(import.meta.dirname, '../../../src/cli/main.ts')
  const args = ['--conditions=pannier-source', program, 'audit', 'verify', folder]
  const env = { ...process.env, PANNIER_KEYS: keys }
  say(`\nnpx pannier audit verify ${folder}`)
  for (const line of execFileSync(process.execPath, args, { env, encoding: 'utf8' }).trimEnd().split('\n'))
    say(`  ${line}`)
}
