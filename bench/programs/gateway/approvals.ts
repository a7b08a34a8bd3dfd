/** A gateway whose calls wait for approvals, the server behind it, and the program of an approver. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { type Authenticator, createServer } from 'pannier/server'
import { newKey } from 'pannier/state'
import { Rules } from '../../../src/gateway/rules/index.ts'
import { serveRequests } from '../ipc.ts'
import { type ApprovalRole, readRole } from '../role.ts'

const { store } = readRole<ApprovalRole>()
const keys = newKey()
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const RULE = { if: 'args.amount > 100', by: 'role:manager', fourEyes: true }
const approver = { id: 'mia', subject: 'mia', claims: { role: 'manager' } }
const principal: Authenticator = ({ header }) => ({ id: header('x-user') ?? 'ann' })
// Longer than the poll interval of any store, so that answers come at any moment of it.
const LONGEST_PAUSE_MS = 50
const DECISIONS = 20_000

async function newGateway(bank: string) {
  const servers = { bank: { url: bank, pannier: { state: 'stateless' } } }
  const settings = { admin: false, approve: [RULE], ...store }
  const config = await gatewayConfigOf({ mcpServers: servers, gateway: settings })
  return createGateway({ ...config, keys, logger: quiet, principal })
}

/** Serves a gateway; its server's tool answers with the time at which it was called. */
async function serve(): Promise<string> {
  const server = createServer({ name: 'bank', version: '1', logger: quiet, keys })
  const input = { type: 'object', properties: { amount: { type: 'number' } } } as const
  server.tool('pay', { description: 'Pays.', input }, () => String(now()))
  const bank = await server.listen()
  const gateway = await newGateway(bank.url)
  const { url } = await gateway.listen({ port: 0 })
  await gateway.tried()
  gatewayHere = gateway
  return url
}

let gatewayHere: Awaited<ReturnType<typeof newGateway>> | undefined
let amount = 1000

/** Milliseconds from an approval until the server is called, for calls at this gateway. */
async function measure({ url, count }: { url: string; count: number }): Promise<number[]> {
  const { questions } = gatewayHere ?? (await newGateway('http://127.0.0.1:1/mcp'))
  const times: number[] = []
  while (times.length < count) {
    const waiting = await call(url, 'bank_pay', { amount: ++amount })
    const [question] = waiting.asked ?? []
    if (question === undefined) throw new Error(`The call does not wait: ${waiting.text}`)
    await sleep(Math.random() * LONGEST_PAUSE_MS)
    const calledAt = now()
    await questions.answer(question.id, { approve: true }, approver)
    let end = waiting
    while (end.asked !== undefined) end = await call(url, 'continue_call', { ticket: waiting.ticket })
    times.push(Number(end.text) - calledAt)
  }
  return times
}

interface Waited {
  readonly text: string
  readonly ticket?: string
  readonly asked?: readonly { readonly id: string }[]
}

async function call(url: string, name: string, args: object): Promise<Waited> {
  const version = '2026-07-28'
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    'mcp-method': 'tools/call',
    'mcp-name': name,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta } })
  const { result } = (await (await fetch(url, { method: 'POST', headers, body })).json()) as {
    result: { content: { text: string }[]; _meta?: Record<string, { ticket: string; questions: { id: string }[] }> }
  }
  const { ticket, questions } = result._meta?.['dev.pannier/waiting'] ?? {}
  const text = result.content[0]?.text ?? ''
  return ticket === undefined ? { text } : { text, ticket, asked: questions ?? [] }
}

/** Microseconds that the rule takes for a call that needs no approval. */
function measureRule(): number {
  const rules = new Rules({ approve: [RULE] })
  const tool = { name: 'bank_pay', ownName: 'pay', listed: { name: 'bank_pay', description: 'Pays.' } }
  const decide = (): void => {
    for (let at = 0; at < DECISIONS; at++)
      rules.decide({ principal: approver, server: 'bank', view: '', tool, args: { given: { amount: at % 100 } } })
  }
  decide()
  const startedAt = performance.now()
  decide()
  return ((performance.now() - startedAt) / DECISIONS) * 1000
}

/** A clock that all processes of a machine share. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

serveRequests({ serve, measure, measureRule })
