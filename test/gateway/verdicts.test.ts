/** What a gateway says of its servers when it starts: whether they keep something, and why one is not there. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { proves } from '../proves.ts'
import { call, connectClient, modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'

interface Line {
  readonly level: 'info' | 'warn'
  readonly details: Readonly<Record<string, unknown>>
  readonly message: string
}

function recordingLog() {
  const lines: Line[] = []
  const note = (level: Line['level']) => (details: unknown, message: string) =>
    void lines.push({ level, details: details as Line['details'], message })
  const logger = { debug() {}, info: note('info'), warn: note('warn'), error: note('warn') }
  const of = (server: string): Line[] => lines.filter(({ details }) => details['server'] === server)
  return { logger, of }
}

/** A server that answers the methods with these; gives its entry. */
async function scripted(answers: Readonly<Record<string, object>>): Promise<{ url: string }> {
  const respond = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
    if (req.method !== 'POST') return res.writeHead(405).end()
    const { id, method } = (await json(req)) as { id?: number; method: string }
    if (id === undefined) return res.writeHead(202).end()
    const answer = answers[method] ?? { error: { code: -32601, message: 'Method not found' } }
    const body = JSON.stringify({ jsonrpc: '2.0', id, ...answer })
    return res.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }
  const host = await hostUntil((req, res) => void respond(req, res))
  return { url: host.url }
}

const about = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } }
const odd = { initialize: { result: about }, 'tools/list': { result: { tools: [] } } }

proves('DT-19 DT-29', 'each verdict is in the log, and for a stateful server what to do', async () => {
  const { logger, of } = recordingLog()
  const servers = {
    modern: { url: (await modernServer()).url },
    bare: await scripted(odd),
    keeping: { url: (await sessionServer()).url },
    declared: { url: (await sessionServer()).url, pannier: { state: 'stateful' } },
    gone: { url: 'http://127.0.0.1:1/' },
  }
  const { gateway } = await startGateway(servers, { logger })
  await gateway.judged()
  const stateless = { level: 'info', message: 'A server was probed.' }
  for (const server of ['modern', 'bare'])
    expect(of(server)).toMatchObject([{ ...stateless, details: { state: 'STATELESS', why: expect.any(String) } }])
  const advice = /^A server keeps something between calls.* connects to the server directly\.$/
  const stateful = { level: 'warn', message: expect.stringMatching(advice) }
  expect(of('keeping')).toMatchObject([{ ...stateful, details: { state: 'STATEFUL', why: expect.any(String) } }])
  expect(of('declared')).toMatchObject([{ ...stateful, details: { state: 'STATEFUL', why: 'Its entry says so.' } }])
  expect(of('gone')).toMatchObject([
    { level: 'warn', message: 'A server is not available. It is retried.' },
    { level: 'warn', message: expect.stringContaining('could not tell'), details: { state: 'UNKNOWN' } },
  ])
  const { warnings } = gateway.report().health
  for (const name of ['keeping', 'declared'])
    expect(warnings).toContainEqual(expect.stringMatching(new RegExp(`"${name}" keeps something.* directly`)))
})

proves(
  'DT-20',
  'callers share what a verdict says is stateless, and have a session each where it says stateful',
  async () => {
    const servers = { bare: await scripted(odd), keeping: { url: (await sessionServer()).url } }
    const principal = ({ header }: { header: (name: string) => string | undefined }) => ({ id: header('x-user') ?? '' })
    const { gateway, url } = await startGateway(servers, { principal })
    await gateway.judged()
    expect(gateway.backends.map(({ prober, isShared }) => [prober.verdict?.state, isShared])).toEqual([
      ['STATELESS', true],
      ['STATEFUL', false],
    ])
    const [ann, bob] = await Promise.all(['ann', 'bob'].map((user) => connectClient('v2', url, { 'x-user': user })))
    await call(ann!, 'keeping_note', { text: 'milk' })
    await call(bob!, 'keeping_note', { text: 'bread' })
    expect([await call(ann!, 'keeping_recall'), await call(bob!, 'keeping_recall')]).toEqual(['milk', 'bread'])
  },
)

test.each([
  ['initialize', { initialize: { error: { code: -32603, message: 'No licence\u001b[31m found.' } } }],
  ['tools/list', { ...odd, 'tools/list': { error: { code: -32603, message: 'No licence\u001b[31m found.' } } }],
])('of a server that answers %s with an error, all doors say what it answered', async (_, answers) => {
  const { logger, of } = recordingLog()
  const { gateway, url } = await startGateway({ odd: await scripted(answers) }, { logger })
  const why = 'it answers with error -32603: "No licence\uFFFD[31m found.".'
  await vi.waitFor(() => expect(of('odd')[0]?.details).toMatchObject({ why }))
  expect(gateway.report().health.warnings).toContain(`The server "odd" is not there: ${why} It is tried again.`)
  const { _meta: meta } = (await (await connectClient('v2', url)).listTools()) as { _meta?: Record<string, unknown> }
  expect(meta?.['dev.pannier/absent']).toEqual({ odd_: `The server "odd" is not there: ${why} It is tried again.` })
})
