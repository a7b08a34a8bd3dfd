/** Clients of both eras at both workers of a gateway hear what changes at the servers. */
import { createServer } from 'pannier/server'
import { expect, onTestFinished, test } from 'vitest'
import { open } from '../fixtures/modernClient.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { MessageStream } from '../interop/fixtures/messageStream.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'

const FRESH = { connection: 'close' }
const URI = 'item://one'

async function listen(url: string, notifications: object): Promise<MessageStream> {
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const { signal } = abort
  const response = await open(url, {
    method: 'subscriptions/listen',
    params: { notifications },
    headers: FRESH,
    signal,
  })
  const stream = new MessageStream(response, abort)
  expect(await stream.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' })
  return stream
}

/** The address of each resource that a stream tells of, and `tools` for a changed list, until this one comes. */
async function heardUntil(stream: MessageStream, wanted: string): Promise<void> {
  for (;;) {
    const { method, params } = (await stream.next()) as { method?: string; params?: { uri?: string } }
    if ((method === 'notifications/tools/list_changed' ? 'tools' : params?.uri) === wanted) return
  }
}

test('updated resources and changed lists reach clients of both eras at both workers', async () => {
  const server = createServer({ name: 'ours', version: '1', keys: KEYS, logger: quiet })
  server.resource(URI, { name: 'one' }, () => 'x')
  server.tool('first', { description: 'The first.' }, () => 'x')
  const { url: behind } = await server.listen({ drainOnTerm: false })
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  const { url } = await startGatewayProcess({ ours: { url: behind } }, { args: ['--workers', '2'] })
  const wanted = { resourceSubscriptions: [URI], toolsListChanged: true }
  // Connections go to the workers in turn, so that two of each kind are at different ones.
  const modern = [await listen(url, wanted), await listen(url, wanted)]
  const sessions = [await RawSession.begin(url), await RawSession.begin(url)]
  const legacy = await Promise.all(sessions.map((session) => session.listen()))
  for (const session of sessions) await session.request('resources/subscribe', { uri: URI })
  onTestFinished(() => void Promise.all(sessions.map((session) => session.end())))
  const streams = [...modern, ...legacy]
  // When the server has heard of a subscription is not told.
  const timer = setInterval(() => server.updated(URI), 100)
  onTestFinished(() => clearInterval(timer))
  await Promise.all(streams.map((stream) => heardUntil(stream, URI)))
  clearInterval(timer)
  server.tool('late', { description: 'A late one.' }, () => 'x')
  await Promise.all(streams.map((stream) => heardUntil(stream, 'tools')))
})
