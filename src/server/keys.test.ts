import { once } from 'node:events'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newKey } from '../state/seal/index.ts'
import type { Logger } from './logger.ts'
import type { Server } from './server.ts'

const hosts: [string, (server: Server) => unknown][] = [
  ['nodeHandler', (server) => server.nodeHandler()],
  ['fetchHandler', (server) => server.fetchHandler()],
]

test.each(hosts)('%s without keys warns in the log', async (_, start) => {
  const { createServer } = await import('./createServer.ts')
  const warn = vi.fn<Logger['warn']>()
  start(createServer({ name: 'keyless', version: '1.0.0', logger: { debug() {}, info() {}, warn, error() {} } }))
  expect(warn).toHaveBeenCalledExactlyOnceWith({}, expect.stringContaining('Set PANNIER_KEYS'))
})

test.each(hosts)('%s logs that the server is mounted, with the ids of its keys', async (name, start) => {
  const { createServer } = await import('./createServer.ts')
  const info = vi.fn<Logger['info']>()
  const keys = newKey()
  start(createServer({ name: 'mounted', version: '1', keys, logger: { debug() {}, info, warn() {}, error() {} } }))
  const handler = name === 'fetchHandler' ? 'fetch' : name
  expect(info).toHaveBeenCalledExactlyOnceWith({ handler, keys: [expect.any(String)] }, 'Mounted.')
  expect(JSON.stringify(info.mock.calls)).not.toContain(keys)
})

test('where there is no logger, the process warns, once', async () => {
  vi.resetModules()
  const { createServer } = await import('./createServer.ts')
  const warned = once(process, 'warning')
  const emit = vi.spyOn(process, 'emitWarning')
  for (const [, start] of hosts) start(createServer({ name: 'keyless', version: '1.0.0' }))
  expect((await warned)[0]).toMatchObject({ code: 'PANNIER_NO_KEYS', message: expect.stringContaining('PANNIER_KEYS') })
  expect(emit).toHaveBeenCalledOnce()
  emit.mockRestore()
})

test('keys that are there and empty are an error, and no keys are not', async () => {
  const { createServer } = await import('./createServer.ts')
  const make = (keys?: string) => createServer({ name: 'keyless', version: '1.0.0', keys })
  const empty = expect.objectContaining({ code: 'KEYS_EMPTY', message: expect.stringContaining('PANNIER_KEYS') })
  expect(() => make('')).toThrow(empty)
  vi.stubEnv('PANNIER_KEYS', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(() => make()).toThrow(empty)
  vi.stubEnv('PANNIER_KEYS', undefined)
  expect(() => make()).not.toThrow()
})

test('a key that cannot be used is told with the name of its variable or option', async () => {
  const { createServer } = await import('./createServer.ts')
  const make = (keys?: string) => createServer({ name: 'keyless', version: '1.0.0', keys })
  expect(() => make('cut')).toThrow(/^The option "keys": Key 1 has 3 characters/)
  vi.stubEnv('PANNIER_KEYS', 'cut')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(() => make()).toThrow(expect.objectContaining({ code: 'KEYS_LENGTH' }))
  expect(() => make()).toThrow(/^PANNIER_KEYS: Key 1 has 3 characters/)
})
