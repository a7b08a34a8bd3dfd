/**
 * One PostgreSQL for all files of a test run, started when the first file needs it. Test files run in processes of their
 * own, so they get its address over HTTP on a local port.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { TestProject } from 'vitest/node'
import { PostgresServer } from './server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresAddress: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let starting: Promise<PostgresServer> | undefined
  const starter = createServer((_, response) => {
    starting ??= PostgresServer.start()
    starting.then(
      (server) => response.end(server.url()),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  starter.listen(0, '127.0.0.1')
  await once(starter, 'listening')
  const address = starter.address()
  if (typeof address !== 'object' || address === null) throw new Error('The address server has no port.')
  project.provide('postgresAddress', `http://127.0.0.1:${address.port}`)
  return async () => {
    starter.close()
    await (await starting)?.end()
  }
}
