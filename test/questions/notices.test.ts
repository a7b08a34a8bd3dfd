/** Notices of open questions, by channels that real receivers read. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { chat, mail, type QuestionNotice, type NoticeChannel, type Server, webhook } from 'pannier/server'
import { metrics } from '@opentelemetry/api'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { SMTPServer } from 'smtp-server'
import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { parseJson } from '../../src/protocol/index.ts'
import { createDesk } from '../../docs/snippets/notify.ts'
import { ENGINES, type EngineName, instancesOver } from '../tasks/fixtures/engines.ts'
import { askless, byName, offerAsking, principalOf, waitingIn } from './fixtures/askless.ts'

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`

interface Posted {
  readonly headers: Record<string, string>
  readonly body: string
}

async function receiver(statuses: readonly number[] = []) {
  const posted: Posted[] = []
  const server = createHttpServer((req, res) => {
    void text(req).then((body) => {
      posted.push({ headers: req.headers as Record<string, string>, body })
      res.writeHead(statuses[posted.length - 1] ?? 204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { posted, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/token` }
}

async function mailbox() {
  const mails: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, _, done) => {
      stream.once('end', done)
      void text(stream).then((source) => mails.push(source))
    },
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { mails, smtp: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}` }
}

async function serve(engine: EngineName, notify: readonly NoticeChannel[]): Promise<[Server, string]> {
  const [server] = await instancesOver(engine, 1, {}, { questions: { notify }, principal: byName })
  offerAsking(server!, { charged: 0, deleted: [] })
  return [server!, (await server!.listen({ drainOnTerm: false })).url]
}

class Reader extends MetricReader {
  protected override onShutdown = (): Promise<void> => Promise.resolve()
  protected override onForceFlush = (): Promise<void> => Promise.resolve()
}

function metricsOfTest(): MetricReader {
  const reader = new Reader()
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  onTestFinished(() => metrics.disable())
  return reader
}

/** The attributes of each kind of attempt that was counted. */
async function attemptsIn(reader: MetricReader): Promise<object[]> {
  const { resourceMetrics } = await reader.collect()
  const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics)
  return all
    .filter(({ descriptor }) => descriptor.name === 'pannier.server.notices')
    .flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => attributes))
}

describe.each(ENGINES)('over %s', (engine) => {
  test('a question is sent to a program that verifies it, to a chat and by mail, with its link and no argument', async () => {
    const [hook, room, box] = [await receiver(), await receiver(), await mailbox()]
    const [, url] = await serve(engine, [
      webhook({ url: hook.url, secret: SECRET }),
      chat({ url: room.url }),
      mail({ smtp: box.smtp, from: 'desk@example.com', to: () => ['ann@example.com'] }),
    ])
    const client = await askless('SDK v2', url, 'ann')
    const { questions } = waitingIn(await client.call('delete_branch', { branch: 'old' }))
    await vi.waitFor(() => expect([hook.posted, room.posted, box.mails].map(({ length }) => length)).toEqual([1, 1, 1]))

    const { headers, body } = hook.posted[0]!
    const { type, data } = new Webhook(SECRET).verify(body, headers) as { type: string; data: QuestionNotice }
    expect(type).toBe('question.asked')
    expect(data).toMatchObject({ question: questions[0]?.id, tool: 'delete_branch', caller: 'ann', attempt: 1 })
    expect(() => new Webhook(SECRET).verify(body.replace('ann', 'bob'), headers)).toThrow()
    expect((await fetch(data.link ?? '')).status).toBe(200)
    expect(parseJson(room.posted[0]!.body)).toEqual({ text: expect.stringContaining('Answer here: http') as string })
    expect(box.mails[0]).toMatch(/To: ann@example.com/)
    expect(box.mails[0]).toMatch(/Delete the branch old\?/)
  })

  test('a channel that fails does not keep others from it', async () => {
    const [hook, reader] = [await receiver(), metricsOfTest()]
    const failing: NoticeChannel = { name: 'desk', send: () => Promise.reject(new Error('no')) }
    const [server, url] = await serve(engine, [webhook({ url: hook.url, secret: SECRET }), failing])
    const client = await askless('SDK v1', url, 'ann')
    await client.call('refund', { cents: 5 })
    await vi.waitFor(() => expect(hook.posted).toHaveLength(1))
    expect(parseJson(hook.posted[0]!.body)).toMatchObject({ data: { by: ['role:manager'] } })
    const { questions } = await server.questions.open({ for: principalOf('mia') })
    expect(questions).toMatchObject([{ undelivered: [] }])
    await vi.waitFor(async () => {
      const attempts = await attemptsIn(reader)
      expect(attempts).toContainEqual({ channel: 'webhook', outcome: 'sent' })
      expect(attempts).toContainEqual({ channel: 'desk', outcome: 'failed' })
    })
  })
})

test('a message cannot pass for the lines of its notice', async () => {
  const [room, box] = [await receiver(), await mailbox()]
  const notify = [chat({ url: room.url }), mail({ smtp: box.smtp, from: 'desk@example.com', to: 'ann@example.com' })]
  const [, url] = await serve('SQLite', notify)
  const forged = 'old?\r\nAnswer here: https://evil.example\u2028Now'
  await (await askless('SDK v2', url, 'ann')).call('delete_branch', { branch: forged })
  await vi.waitFor(() => expect([room.posted, box.mails].map(({ length }) => length)).toEqual([1, 1]))
  const { text: shown } = parseJson(room.posted[0]!.body) as { text: string }
  const lines = shown.split('\n')
  expect(lines.slice(1, 4)).toEqual([
    '&gt; Delete the branch old?',
    '&gt; Answer here: https://evil.example',
    '&gt; Now?',
  ])
  expect(lines.filter((line) => line.startsWith('Answer here: '))).toHaveLength(1)
  expect(box.mails[0]).toContain('> Answer here: https://evil.example')
})

test('a server for mails that says nothing holds up neither the other channels nor the end of the process', async () => {
  const [hook, silentMail] = [await receiver(), createTcpServer(() => {}).listen(0, '127.0.0.1')]
  await once(silentMail, 'listening')
  onTestFinished(() => void silentMail.close())
  const smtp = `smtp://127.0.0.1:${(silentMail.address() as AddressInfo).port}`
  const notify = [
    mail({ smtp, from: 'desk@example.com', to: 'ann@example.com' }),
    webhook({ url: hook.url, secret: SECRET }),
  ]
  const [server, url] = await serve('SQLite', notify)
  const client = await askless('SDK v2', url, 'ann')
  for (const [turn, branch] of ['old', 'new'].entries()) {
    await client.call('delete_branch', { branch })
    await vi.waitFor(() => expect(hook.posted).toHaveLength(turn + 1))
  }
  await server.drain({ deadlineMs: 0, idleMs: 0 })
})

test('the server of the guide is made from its variables', () => {
  const env = { STORE: ':memory:', HOOK_URL: 'https://x.example', HOOK_SECRET: SECRET, CHAT_URL: 'https://x.example' }
  expect(createDesk({ ...env, SMTP_URL: 'smtp://x.example' })).toBeDefined()
})

test('channels are checked when the server is made', () => {
  expect(() => webhook({ url: 'https://x.example', secret: 'c2hvcnQ=' })).toThrow(/at least 16 bytes/)
  expect(() => chat({ url: 'hooks.example' })).toThrow(/http or https/)
  expect(() => mail({ smtp: 'mail.example.com', from: 'a@b.c', to: 'a@b.c' })).toThrow(/smtp:\/\//)
})
