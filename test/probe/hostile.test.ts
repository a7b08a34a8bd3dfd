/** Servers that mean harm, or are broken beyond repair: each ends in UNKNOWN with a reason, in bounded time and memory. */
import type { ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type Exchanged, type Lookup, probe, type Verdict } from 'pannier/probe'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isThere } from './fixtures/processes.ts'
import { events, json, type Respond, startHost } from './fixtures/host.ts'
import { about, error, plainAnswer, result } from './fixtures/legacyAnswers.ts'
import { startSessionHost } from './fixtures/sessionHost.ts'

const odd = fileURLToPath(new URL('programs/nonconforming.ts', import.meta.url))
const MB = 1024 * 1024
const TIMEOUT_MS = 300
/** For servers that do answer, however busy the machine is. */
const PATIENT_MS = 60_000
/** Half of it for the era, all of it for initialize and for a stream; the rest is for a machine that is busy. */
const BOUND_MS = 10_000

/** Writes for ever, as fast as it is read, and counts how much that is. */
function flood(chunk: string, head: Record<string, string>) {
  const written = { bytes: 0 }
  const respond: Respond = (_, res) => {
    res.writeHead(200, head)
    const more = (): void => {
      while (!res.destroyed && res.write(chunk)) written.bytes += chunk.length
    }
    res.on('drain', more)
    more()
  }
  return { written, respond }
}

/** Says the same to whoever asks, whether it is HTTP or not. */
async function startTcp(said: string): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write(said))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function unknown(respond: Respond, timeoutMs = TIMEOUT_MS): Promise<Verdict> {
  const host = await startHost(respond)
  const verdict = await probe(host.url, { timeoutMs })
  expect(verdict, verdict.message).toMatchObject({ state: 'UNKNOWN', confidence: 0, decidedBy: 'nothing' })
  expect(verdict.durationMs).toBeLessThan(BOUND_MS)
  expect(host.seen.length).toBeLessThanOrEqual(8)
  return verdict
}

describe('over HTTP', () => {
  test.each([
    ['endless events', 'data: {"jsonrpc":"2.0","method":"x"}\n\n'.repeat(500), 'text/event-stream'],
    ['one endless event', 'x'.repeat(65_536), 'text/event-stream'],
    ['endless JSON', '{"a":'.repeat(10_000), 'application/json'],
    ['an endless text', 'x'.repeat(65_536), 'text/plain'],
  ])('%s are read for a while only', async (_, chunk, type) => {
    const { written, respond } = flood(chunk, { 'content-type': type })
    const { message } = await unknown(respond)
    expect(message).toMatch(/larger than 4194304 bytes|says nothing for/)
    // What lies in buffers of the system comes on top of what is read.
    expect(written.bytes).toBeLessThan(64 * MB)
  })

  test('an answer of 100 MB is not read to its end', async () => {
    let left = 100 * MB
    const { message } = await unknown((_, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': String(100 * MB) })
      const more = (): void => {
        while (left > 0 && !res.destroyed) {
          left -= MB
          if (!res.write(' '.repeat(MB))) return
        }
      }
      res.on('drain', more)
      more()
    }, BOUND_MS)
    expect(message).toContain('larger than 4194304 bytes')
    expect(left).toBeGreaterThan(0)
  })

  test('one that sends a byte at a time is not waited for', async () => {
    const drip: Respond = (_, res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => res.write(' '), 5)
      res.on('close', () => clearInterval(timer))
    }
    expect((await unknown(drip)).message).toBe('To initialize it says nothing for 0.3 s.')
  })

  test('one that never answers is not waited for', async () => {
    expect((await unknown(() => undefined)).message).toBe('To initialize it says nothing for 0.3 s.')
  })

  test.each([
    ['no JSON', '{"jsonrpc":"2.0",', 'it is not JSON'],
    ['nothing', '', 'it is empty'],
    ['a number', '7', 'it answers something else'],
    ['a result of another request', '{"jsonrpc":"2.0","id":99,"result":{}}', 'it answers something else'],
    ['a result that is none', '{"jsonrpc":"2.0","id":1,"result":7}', 'it answers something else'],
    ['lists in lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'it says something that'],
  ])('%s is no answer', async (_, body, why) => {
    const respond: Respond = (_, res) => res.writeHead(200, { 'content-type': 'application/json' }).end(body)
    expect((await unknown(respond, PATIENT_MS)).message).toContain(why)
  })

  test('a stream that ends without an answer is none', async () => {
    const respond: Respond = (_, res) => (events(res, [{ jsonrpc: '2.0', method: 'x' }]), res.end())
    expect((await unknown(respond, PATIENT_MS)).message).toContain('its stream ended without an answer')
  })

  test('what unfolds into more than it is, is not unfolded', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * MB))
    const respond: Respond = (_, res) =>
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb)
    expect((await unknown(respond, PATIENT_MS)).message).toContain('it is compressed')
  })

  test('a server that hangs up is told to have done so', async () => {
    expect((await unknown((_, res) => res.destroy(), PATIENT_MS)).message).toContain(
      'gives no answer: the connection was cut',
    )
  })

  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'x-more: 1\r\n'.repeat(100_000)}`],
  ])('%s is no HTTP', async (_, said) => {
    const verdict = await probe(await startTcp(said), { timeoutMs: 2_000 })
    expect(verdict.state).toBe('UNKNOWN')
    expect(verdict.message).toContain('does not speak HTTP')
  })

  test.each([
    ['switches to another protocol', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['says again and again that it will answer', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10_000)],
  ])('one that %s is not waited for', async (_, said) => {
    const { state, message } = await probe(await startTcp(said), { timeoutMs: TIMEOUT_MS })
    expect(state).toBe('UNKNOWN')
    expect(message).toMatch(/says nothing for 0.3 s|the connection broke off/)
  })

  test('a name that nobody looks up is not waited for', async () => {
    const lookup = () => new Promise<never>(() => undefined)
    const verdict = await probe('http://server.invalid/mcp', { lookup, timeoutMs: TIMEOUT_MS })
    expect(verdict).toMatchObject({ state: 'UNKNOWN', message: 'To initialize it says nothing for 0.3 s.' })
    const host = await startSessionHost()
    const url = host.url.replace('127.0.0.1', 'server.invalid')
    let asked = 0
    const once: Lookup = () => (++asked > 4 ? lookup() : Promise.resolve(['127.0.0.1']))
    const checked = await probe(url, { lookup: once, timeoutMs: TIMEOUT_MS, checks: ['replica'] })
    expect(checked.state).toBe('STATEFUL')
  })

  test.each([
    ['is never answered', () => undefined],
    ['is answered and never ended', (res: ServerResponse) => res.writeHead(200).write('x')],
    [
      'begins another one',
      (res: ServerResponse) => res.writeHead(200, { 'mcp-session-id': `d${Math.random()}` }).end(),
    ],
  ])('a DELETE that %s holds nobody up', async (_, end) => {
    let last = 0
    const host = await startHost(({ verb, message }, res) =>
      verb === 'DELETE'
        ? end(res)
        : json(res, plainAnswer(message) ?? {}, 200, { 'mcp-session-id': `session-${++last}` }),
    )
    const { requests, durationMs } = await probe(host.url, { timeoutMs: 1_000, checks: ['after-delete'] })
    expect(requests).toBe(host.seen.length)
    expect(requests).toBeLessThanOrEqual(32)
    // One of them in its turn, and all the others at once.
    expect(durationMs).toBeLessThan(BOUND_MS)
  })

  test('names that are no text, and lists that repeat themselves, keep nobody busy', async () => {
    const deep = `${'['.repeat(100)}${']'.repeat(100)}`
    const again = '"a_id",'.repeat(300_000)
    const tool = `{"name":${deep},"outputSchema":{"properties":{"b_id":1}},"inputSchema":{"required":[${again}"a_id"]}}`
    const others =
      '{"name":"g","outputSchema":{"properties":{"a_id":1}}},{"name":"u","inputSchema":{"required":["b_id"]}}'
    const about = `"protocolVersion":"2025-06-18","capabilities":{"tasks":{}},"serverInfo":{"name":"x","transport":[${deep}]}`
    const host = await startHost(({ message: { id, method } }, res) => {
      const said = method === 'tools/list' ? `"tools":[${tool},${others}]` : about
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`{"jsonrpc":"2.0","id":${String(id)},"result":{${said}}}`)
    })
    const verdict = await probe(host.url)
    expect(verdict.state).toBe('STATELESS')
    expect(verdict.durationMs).toBeLessThan(BOUND_MS)
    const sentences = verdict.evidence.filter(({ check }) => check === 'handles').map(({ sentence }) => sentence)
    expect(sentences).toEqual([
      'a tool without a name returns "b_id", which u requires: state is kept under it.',
      'g returns "a_id", which a tool without a name requires: state is kept under it.',
    ])
  })

  test.each([
    ['file:///etc/passwd', 'a file: address'],
    ['http://169.254.169.254/latest/meta-data?a=1', 'http://169.254.169.254/latest/meta-data'],
    ['https://ann:pw@127.0.0.1/x#y', 'https://127.0.0.1/x'],
    ['//elsewhere.invalid/mcp', 'http://elsewhere.invalid/mcp'],
  ])('a redirect to %s is told and not followed', async (location, to) => {
    const { message } = await unknown((_, res) => res.writeHead(307, { location }).end(), PATIENT_MS)
    const end = 'which is another origin; if that is right, give that address.'
    expect(message).toBe(`Nothing can be known: it redirects to ${to}, ${end}`)
  })

  test('answers to others, and keys that mean something to JavaScript, are no answers', async () => {
    const host = await startHost(({ message: { id, method } }, res) => {
      const others = [
        { jsonrpc: '2.0', id: 99, error: 'no session' },
        { jsonrpc: '2.0', id: 98, error: { code: 1 } },
      ]
      const own = `{"jsonrpc":"2.0","id":7,"id":${String(id)},"result":{"__proto__":{"tools":7},"protocolVersion":"2025-06-18","capabilities":{"__proto__":{}},"serverInfo":{"name":"x","__proto__":{"name":"y"}},"tools":[]}}`
      const body = method === 'server/discover' ? '[]' : `[${JSON.stringify(others).slice(1, -1)},${own}]`
      res.writeHead(200, { 'content-type': 'application/json' }).end(body)
    })
    expect(await probe(host.url)).toMatchObject({ state: 'STATELESS', server: { name: 'x' } })
  })

  test('ids with odd bytes go back as they came, or not at all', async () => {
    const session = 'odd \u00e9\u00ff;=,'
    const host = await startSessionHost({ session, streams: true, news: [], eventId: 'id-\u20ac' })
    const { evidence } = await probe(host.url, { checks: 'all' })
    expect(host.seen.some(({ headers }) => headers['mcp-session-id'] === session)).toBe(true)
    expect(host.seen.every(({ headers }) => headers['last-event-id'] === undefined)).toBe(true)
    expect(evidence.map(({ check }) => check)).not.toContain('resume')
  })

  test('a header that is short is hidden, too, where messages are shown', async () => {
    const host = await startSessionHost()
    const shown: Readonly<Record<string, string>>[] = []
    const onExchange = ({ direction, headers }: Exchanged) => void (direction === 'sent' && shown.push(headers))
    await probe(host.url, { headers: { 'X-Pin': '1234' }, onExchange })
    expect(shown.length).toBeGreaterThan(0)
    for (const headers of shown) expect(headers['x-pin']).toBe('[hidden]')
  })

  test('who watches does not change what is found', async () => {
    const host = await startSessionHost()
    const onExchange = (): never => {
      throw new Error('broken')
    }
    expect(await probe(host.url, { onExchange })).toMatchObject({ state: 'STATEFUL' })
    expect(await probe([process.execPath, odd, 'logs on stdout'], { onExchange })).toMatchObject({ state: 'STATELESS' })
  })

  test('nobody there is told at once, after one request', async () => {
    const verdict = await probe('http://127.0.0.1:1/mcp')
    expect(verdict).toMatchObject({ state: 'UNKNOWN', requests: 1 })
    expect(verdict.message).toBe('Nothing can be known: it gives no answer: nothing listens there.')
  })

  test('control characters do not get from a server to a terminal', async () => {
    const nasty = '\u001b]0;owned\u0007\u202e\r\nSTATELESS'
    const host = await startHost(({ message: { id, method } }, res) => {
      if (method === 'initialize') {
        const { serverInfo } = about(`${nasty}${'x'.repeat(1_000)}`)
        const info = { ...serverInfo, version: nasty, architecture: nasty, transport: [nasty] }
        return json(res, result(id, { protocolVersion: nasty, capabilities: {}, serverInfo: info }))
      }
      return json(res, { jsonrpc: '2.0', id: id ?? null, error: { code: 1, message: nasty } }, 400)
    })
    const verdict = await probe(host.url, { onExchange: ({ text }) => expect(text).not.toMatch(STEERING) })
    expect(JSON.stringify(verdict)).not.toMatch(STEERING)
    expect(verdict.server?.name.length).toBeLessThanOrEqual(100)
    expect(verdict.versions).toEqual([])
  })

  test('a server that gives back what it was given learns nothing, and shows nothing', async () => {
    const host = await startSessionHost({
      refuse: ({ headers }, res) => res.writeHead(400).end(`no session for ${String(headers.authorization)}`),
    })
    const told: string[] = []
    const verdict = await probe(host.url, {
      headers: { authorization: 'Bearer top-secret-1' },
      onExchange: (exchanged) => told.push(JSON.stringify(exchanged)),
    })
    expect(verdict.message).toContain('no session for [hidden]')
    expect(JSON.stringify(verdict) + told.join()).not.toContain('top-secret-1')
    const sessions = host.seen.map(({ headers }) => headers['mcp-session-id']).filter((id) => id !== undefined)
    expect(sessions.length).toBeGreaterThan(0)
    for (const session of sessions) expect(JSON.stringify(verdict) + told.join()).not.toContain(session)
  })

  test('nor does one that calls itself by it', async () => {
    const headers = { authorization: 'Bearer top-secret-2' }
    const host = await startHost(({ headers: { authorization = '' }, message: { id, method } }, res) => {
      const secret = authorization.slice(7)
      const serverInfo = { name: secret, version: secret, architecture: secret, transport: [secret] }
      const tools = [
        { name: secret, outputSchema: { properties: { a_id: {} } } },
        { name: 'b', inputSchema: { required: ['a_id'] } },
      ]
      const about = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo, tools }
      json(res, method === 'server/discover' ? error(id, -32601, secret, secret) : result(id, about))
    })
    const told: string[] = []
    const verdict = await probe(host.url, { headers, onExchange: (exchanged) => told.push(JSON.stringify(exchanged)) })
    expect(verdict.server?.name).toBe('[hidden]')
    expect(verdict.evidence.map(({ check }) => check)).toEqual(expect.arrayContaining(['handles', 'declared']))
    expect(JSON.stringify(verdict) + told.join()).not.toContain('top-secret-2')
  })

  test('a server that begins a session with each answer gets no more requests for it', async () => {
    let last = 0
    const host = await startHost(({ message }, res) =>
      json(res, plainAnswer(message) ?? {}, 200, { 'mcp-session-id': `s${++last}` }),
    )
    expect((await probe(host.url)).requests).toBeLessThanOrEqual(8)
    expect(host.seen.length).toBeLessThanOrEqual(8)
  })
})

const STEERING = /(?!\n)[\p{Cc}\p{Bidi_Control}]/u

describe('as a program', () => {
  test.concurrent.each(['writes without end', 'writes lines without end', 'never answers'])(
    'one that %s',
    async (way) => {
      const { state, message, durationMs } = await probe([process.execPath, odd, way], { timeoutMs: 2_000 })
      expect(state).toBe('UNKNOWN')
      expect(message).toMatch(
        /^To initialize it says (something that is no answer: it writes more than 4194304 bytes|nothing for 2 s)\.$/,
      )
      expect(durationMs).toBeLessThan(2 * BOUND_MS)
    },
  )

  test('one that complains without end is heard for a while only', async () => {
    let told = 0
    const onExchange = () => void told++
    const { state } = await probe([process.execPath, odd, 'complains without end'], { timeoutMs: 1_000, onExchange })
    expect(state).toBe('UNKNOWN')
    expect(told).toBeLessThanOrEqual(2_000)
  })

  test('one that writes its log as JSON is not misunderstood', async () => {
    const { state, evidence } = await probe([process.execPath, odd, 'logs JSON on stdout'], { timeoutMs: 60_000 })
    expect(state).toBe('STATELESS')
    expect(evidence.map(({ check }) => check)).toContain('stray-output')
  })

  test('one that cannot be started does not show its arguments', async () => {
    for (const command of [
      [process.execPath, 'secret\0'],
      ['no-such-program-here', 'secret'],
    ]) {
      const error = await probe(command).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'PROBE_NOT_STARTED' })
      expect(inspect(error)).not.toContain('secret')
    }
  })

  test('one that minds no signal is gone when the probe is given up', async () => {
    const pids: number[] = []
    const abort = new AbortController()
    const probing = probe([process.execPath, odd, 'has grandchildren'], {
      signal: abort.signal,
      onExchange: ({ text }) => {
        if (text.startsWith('pids ')) pids.push(...text.slice(5).split(' ').map(Number))
        if (pids.length > 0) abort.abort(new Error('enough'))
      },
    })
    await expect(probing).rejects.toThrow('enough')
    expect(pids).toHaveLength(2)
    await expect.poll(() => pids.filter(isThere)).toEqual([])
  })
})
