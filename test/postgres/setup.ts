/**
 * One PostgreSQL for all files of a test run, started when the first of them asks for it. Test files run in processes of
 * their own, so they ask over a local port.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { TestProject } from 'vitest/node'
import { PostgresServer } from './server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresDoor: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let starting: Promise<PostgresServer> | undefined
  const door = createServer((_, response) => {
    starting ??= PostgresServer.start()
    starting.then(
      (server) => response.end(server.url()),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  const address = door.address()
  if (typeof address !== 'object' || address === null) throw new Error('The door has no port.')
  project.provide('postgresDoor', `http://127.0.0.1:${address.port}`)
  return async () => {
    door.close()
    await (await starting)?.end()
  }
}
