/**
 * Neither a request nor what a server answers to it stops the event loop for more than 20 ms by what is in it, however odd
 * that is: not that of a server, and not that of a gateway. The short form, which has other work beside it, sends every fourth
 * shape, and its limit is five times as long.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { amount, isLong } from '../amount.ts'
import { Backends } from './fixtures/backends.ts'
import { Subject } from './fixtures/subject.ts'
import { OF_PROCESSES } from './shapes/ofProcesses.ts'
import { OF_PAGES, OF_SERVERS } from './shapes/ofServers.ts'
import { Sender, type Shape } from './shapes/sender.ts'
import { TO_GATEWAY } from './shapes/toGateway.ts'
import { TO_SERVER } from './shapes/toServer.ts'
import { TO_SESSION } from './shapes/toSession.ts'
import { UNDER_RULES } from './shapes/underRules.ts'

const MOST_MS = amount(100, 20)
/** Node parses one read of 64 KB at once, with a callback for each piece: of one byte each, that alone takes about 20 ms. */
const PIECES_MS = amount(200, 40)

const chosen = <S>(shapes: readonly S[]): S[] => shapes.filter((_, at) => isLong || at % 4 === 0)

let backends: Backends
let subject: Subject
let client: Sender

beforeAll(async () => {
  backends = await Backends.start()
  subject = await Subject.start(backends.entries)
  client = await Sender.connect(subject)
})

afterAll(async () => {
  await subject.close()
  backends.close()
})

describe.each<[to: string, shapes: readonly Shape[]]>([
  ['a server', TO_SERVER],
  ['a session', TO_SESSION],
  ['a gateway', TO_GATEWAY],
  ['a gateway with rules', UNDER_RULES],
])('%s answers in time', (_, shapes) => {
  test.each(chosen(shapes))('%s', async (_what, answer, sent) => {
    const request = sent(client)
    const longest = await subject.longestTurn(MOST_MS, async () => {
      expect((await subject.send(request)).text).toContain(answer)
    })
    expect(longest).toBeLessThan(MOST_MS)
  })
})

describe('a gateway takes in time', () => {
  test.each(chosen(OF_SERVERS))('%s', async (_what, answer, reply, sent) => {
    backends.replyTo = reply
    onTestFinished(() => {
      backends.replyTo = () => undefined
    })
    const longest = await subject.longestTurn(MOST_MS, async () => {
      let text = ''
      for (const request of sent(client)) ({ text } = await subject.send(request))
      expect(text).toContain(answer)
    })
    expect(longest).toBeLessThan(MOST_MS)
  })
})

describe('a gateway takes in time from a process', () => {
  test.each(chosen(OF_PROCESSES))('%s', async (_what, answer, line) => {
    const longest = await subject.longestTurn(MOST_MS, async () => {
      expect((await subject.send(client.relayed('lines_write', line))).text).toContain(answer)
    })
    expect(longest).toBeLessThan(MOST_MS)
  })
})

describe('the page of a question is shown in time', () => {
  test.each(chosen(OF_PAGES))('with %s', async (_what, reply) => {
    backends.replyTo = reply
    onTestFinished(() => {
      backends.replyTo = () => undefined
    })
    const { text } = await subject.send(client.ruled('modern_echo', { at: performance.now() }))
    const url = /"url":"([^"]+)"/.exec(text)?.[1] ?? ''
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const longest = await subject.longestTurn(MOST_MS, async () => {
      expect((await subject.send({ url, method: 'GET', headers: {} })).status).toBe(200)
      expect((await subject.send({ url, headers: form, body: 'action=none' })).status).toBe(400)
    })
    expect(longest).toBeLessThan(MOST_MS)
  })
})

test('a body in very many pieces is refused before they take time and memory', async () => {
  const { host, hostname, port } = new URL(subject.addresses.server)
  const { headers } = client.call('plain', {})
  const head = Object.entries({ ...headers, host, 'transfer-encoding': 'chunked' }).map(
    ([name, value]) => `${name}: ${String(value)}`,
  )
  const body = `1\r\n{\r\n${'1\r\n \r\n'.repeat(1_000_000)}1\r\n}\r\n0\r\n\r\n`
  const whole = Buffer.from(`POST /mcp HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`)
  const longest = await subject.longestTurn(PIECES_MS, async () => {
    const socket = connect(Number(port), hostname).on('error', () => {})
    socket.write(whole)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(answer.toString()).toMatch(/^HTTP\/1.1 413 .*too many pieces/s)
  })
  expect(longest).toBeLessThan(PIECES_MS)
})
