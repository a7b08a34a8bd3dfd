/** `pannier state open` with what real servers sealed, in both eras. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { createServer, type Server } from 'pannier/server'
import { createKeyring, createSealer, newKey } from 'pannier/state'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { createProgram } from '../../src/cli/program.ts'
import { quiet } from '../interop/fixtures/instances.ts'
import { startPannier } from './fixtures/program.ts'

const keys = newKey()
const [keyId] = createKeyring(keys).ids
const folder = mkdtempSync(join(tmpdir(), 'pannier-state-open-'))
const keysFile = join(folder, '.env')
let server: Server
let url: string

beforeAll(async () => {
  writeFileSync(keysFile, `PANNIER_KEYS=${keys}\n`)
  server = createServer({ name: 'kitchen', version: '1', keys, logger: quiet, principal: () => ({ id: 'ann' }) })
  const dish = { message: 'What?', schema: z.object({ dish: z.string() }) }
  server.tool('cook', { description: 'Cooks.' }, async (_, ctx) => {
    const pot = await ctx.step('pot', () => 'the large one')
    await ctx.ask('dish', dish)
    const { dish: side } = await ctx.ask('side', dish)
    return `${pot} ${side}`
  })
  ;({ url } = await server.listen())
})
afterAll(async () => {
  await server.drain({ deadlineMs: 0 })
  rmSync(folder, { recursive: true, force: true })
})

async function post(message: object, headers: Record<string, string> = {}): Promise<Response> {
  const accept = 'application/json, text/event-stream'
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
}

/** The state of the second round of a call. */
async function stateOfCall(): Promise<string> {
  let more = {}
  for (const answers of [undefined, { dish: { action: 'accept', content: { dish: 'so\u001b[2Jup' } } }]) {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    }
    const params = { name: 'cook', arguments: {}, _meta, ...(answers && { inputResponses: answers }), ...more }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'cook' }
    const response = await post({ method: 'tools/call', params }, headers)
    const { result } = (await response.json()) as { result: { requestState: string } }
    more = { requestState: result.requestState }
  }
  return (more as { requestState: string }).requestState
}

/** A session id, and the id of a question that the server pushes in it. */
async function sessionAndQuestion(): Promise<{ session: string; question: string; event: string }> {
  const info = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } }
  const begun = await post({
    method: 'initialize',
    params: { ...info, clientInfo: { name: 'old client', version: '1' } },
  })
  const session = begun.headers.get('mcp-session-id') ?? ''
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
  const called = await post({ id: 2, method: 'tools/call', params: { name: 'cook', arguments: {} } }, headers)
  const reader = called.body?.pipeThrough(new TextDecoderStream()).getReader()
  onTestFinished(() => reader?.cancel())
  let stream = ''
  while (!stream.includes('elicitation/create')) stream += (await reader?.read())?.value ?? ''
  const event = /^id: (.*)$/m.exec(stream)?.[1] ?? ''
  return { session, question: /"id":"([\w-]+)"/.exec(stream)?.[1] ?? '', event }
}

async function opened(args: readonly string[], { env = keys, input = '' } = {}): Promise<string> {
  let written = ''
  vi.stubEnv('PANNIER_KEYS', env)
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from([input]) as never)
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    written += String(chunk)
    return true
  })
  try {
    await createProgram(undefined).parseAsync(['state', 'open', ...args], { from: 'user' })
    return written
  } finally {
    write.mockRestore()
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
  }
}

describe('the state of a call', () => {
  test('is shown with its claims, its age and what it holds, and nothing of the keys', async () => {
    const text = await opened([await stateOfCall(), '--keys', keysFile], { env: '' })
    expect(text).toMatch(/^This is the state of a call that takes several rounds \(requestState\)\.\n/)
    for (const line of [
      new RegExp(`^ {2}key +${keyId}$`, 'm'),
      /^ {2}server +kitchen$/m,
      /^ {2}principal +ann$/m,
      /^ {2}method +tools\/call$/m,
      /^ {2}name +cook$/m,
      /^ {2}round +2$/m,
      /^ {2}sealed +\S+Z \(\d s ago\)$/m,
      /^ {2}expires +\S+Z \(in (59 min|1 h)\)$/m,
      /"pot": "the large one"/,
      /"dish": "so\\u001b\[2Jup"/,
      /"side": \{\s+"asked": 1\s+\}/,
    ])
      expect(text).toMatch(line)
    expect(text).not.toContain(keys)
  })

  test('is read from standard input, and written as JSON', async () => {
    const token = await stateOfCall()
    const json: unknown = JSON.parse(await opened(['--json'], { input: `row~${token}\n` }))
    expect(json).toMatchObject({
      purpose: 'request',
      audience: 'kitchen',
      binding: { principal: 'ann', method: 'tools/call', name: 'cook' },
      expired: false,
      content: { steps: { pot: 'the large one' }, openQuestions: { side: { asked: 1 } } },
    })
  })

  test('that has expired is shown as such', async () => {
    const clock = (): number => Date.now() - 3 * 3_600_000
    const sealer = createSealer({ keyring: createKeyring(keys), audience: 'kitchen', ttlSeconds: 3600, clock })
    const token = sealer.seal('request', {}, { id: 'i', body: { x: 'kept' } })
    expect(await opened([token])).toMatch(
      /^ {2}expires +\S+Z \(expired 1 h ago\)$|^ {2}expires .*\(expired 2 h ago\)$/m,
    )
    expect(JSON.parse(await opened([token, '--json']))).toMatchObject({
      expired: true,
      content: { requestState: 'kept' },
    })
  })
})

test('session ids, and ids of questions and events, are shown, too', async () => {
  const { session, question, event } = await sessionAndQuestion()
  expect(JSON.parse(await opened([session, '--json']))).toMatchObject({
    purpose: 'session',
    content: { protocolVersion: '2025-11-25', client: { name: 'old client' } },
  })
  expect(JSON.parse(await opened([question, '--json']))).toMatchObject({ purpose: 'question', audience: 'kitchen' })
  expect(JSON.parse(await opened([event, '--json']))).toMatchObject({ purpose: 'stream', content: { request: 2 } })
})

describe('what cannot be opened', () => {
  test('is told in a sentence, without the token and the keys', async () => {
    const token = await stateOfCall()
    const other = newKey()
    const [otherId] = createKeyring(other).ids
    const cases = [
      [[token], { env: other }, new RegExp(`sealed with the key ${keyId}, and the keys given are ${otherId};`)],
      [[`${token.slice(0, -8)}AAAAAAAA`], {}, /changed after it was sealed, or cut/],
      [['hello'], {}, /nothing that a server made with Pannier sealed/],
      [[], { input: '' }, /nothing that a server made with Pannier sealed/],
      [[token, '--keys', join(folder, 'none')], {}, /Cannot read the file given with --keys-file/],
      [['--keys', '-'], {}, /the token or the keys, not both/],
    ] as const
    for (const [args, given, sentence] of cases) {
      const error: unknown = await opened(args, given).catch((cause: unknown) => cause)
      expect(error).toMatchObject({ message: expect.stringMatching(sentence) })
      expect(String(error)).not.toContain(token.slice(10, 40))
      expect(String(error)).not.toContain(other)
    }
  })

  test('ends the program with 2', async () => {
    const ran = await startPannier(['state', 'open'], { input: await stateOfCall() }).ended
    expect(ran).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/^error: This was sealed with the key/),
    })
  })
})
