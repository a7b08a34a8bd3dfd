/** Clients of both eras hear what changes at the servers, at whichever of several processes they are. */
import { createServer } from 'pannier/server'
import { onTestFinished, test } from 'vitest'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import type { MessageStream } from '../interop/fixtures/messageStream.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { newDatabase } from '../postgres/database.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { startGateway } from './fixtures/gateways.ts'
import { heardUntil, listen } from './fixtures/news.ts'

const URI = 'item://one'

/** Addresses of two processes that serve the same, or twice the one that leads to both in turn. */
type Addresses = readonly [string, string]

const PLACES: readonly [string, (servers: object) => Promise<Addresses>][] = [
  [
    'workers',
    async (servers) => {
      const { url } = await startGatewayProcess(servers, { args: ['--workers', '2'] })
      return [url, url]
    },
  ],
  [
    'gateways with PostgreSQL',
    async (servers) => {
      const top = { gateway: { postgres: await newDatabase() } }
      const [first, second] = await Promise.all([startGateway(servers, {}, top), startGateway(servers, {}, top)])
      return [first.url, second.url]
    },
  ],
]

/** A session whose stream is at the other process. */
async function watchingSession(here: string, there: string): Promise<MessageStream> {
  const session = await RawSession.begin(here)
  onTestFinished(() => void session.end().catch(() => {})) // the gateway may have ended before
  session.url = there
  const stream = await session.listen()
  session.url = here
  await session.request('resources/subscribe', { uri: URI })
  return stream
}

test.each(PLACES)('updated resources and changed lists reach clients of both eras at both %s', async (_, start) => {
  const server = createServer({ name: 'ours', version: '1', keys: KEYS, logger: quiet })
  server.resource(URI, { name: 'one' }, () => 'x')
  server.tool('first', { description: 'The first.' }, () => 'x')
  const { url: behind } = await server.listen({ drainOnTerm: false })
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  const [here, there] = await start({ ours: { url: behind } })
  const wanted = { resourceSubscriptions: [URI], toolsListChanged: true }
  const streams = [
    await listen(here, wanted),
    await listen(there, wanted),
    await watchingSession(here, there),
    await watchingSession(there, here),
  ]
  // When the server has heard of a subscription is not told.
  const timer = setInterval(() => server.updated(URI), 100)
  onTestFinished(() => clearInterval(timer))
  await Promise.all(streams.map((stream) => heardUntil(stream, URI)))
  clearInterval(timer)
  server.tool('late', { description: 'A late one.' }, () => 'x')
  await Promise.all(streams.map((stream) => heardUntil(stream, 'tools')))
})
