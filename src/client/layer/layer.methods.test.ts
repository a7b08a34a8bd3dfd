/** What the handlers of a layer put in place of the methods of its transport. */
import { expect, test } from 'vitest'
import { FakeTransport } from '../../../test/client/fixtures/fakeTransport.ts'
import { createLayer, type LayerHandlers } from './layer.ts'

class Logged extends FakeTransport {
  readonly log: string[] = []

  override async start(): Promise<void> {
    this.log.push('start')
  }

  override async close(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.log.push('close')
    this.onclose?.()
  }

  setProtocolVersion(version: string): void {
    this.log.push(version)
  }
}

function layered(handlers: (log: string[]) => LayerHandlers) {
  const inner = new Logged()
  return { inner, outer: createLayer(inner, () => handlers(inner.log)), log: inner.log }
}

test('the revision goes through the layer, which may change it', () => {
  const { outer, log } = layered((seen) => ({
    setProtocolVersion: (version, next) => {
      seen.push(`told ${version}`)
      next('older')
    },
  }))
  outer.setProtocolVersion('newer')
  expect(log).toEqual(['told newer', 'older'])
})

test('a transport that is told no revision has none in a layer either', () => {
  const inner = new FakeTransport()
  const outer = createLayer(inner, () => ({ setProtocolVersion: (_, next) => next('x') }))
  expect('setProtocolVersion' in outer).toBe(false)
})

test('a layer begins before and ends after its transport begins', async () => {
  const { outer, log } = layered((seen) => ({
    start: async (next) => {
      seen.push('before')
      await next()
      seen.push('after')
    },
  }))
  await outer.start()
  expect(log).toEqual(['before', 'start', 'after'])
})

test('a layer hears whether its client closes or the connection ends, and a close is over when the transport is closed', async () => {
  const { inner, outer, log } = layered((seen) => ({ closed: (byServer) => void seen.push(`ended: ${byServer}`) }))
  outer.onclose = () => void log.push('client hears')
  await outer.close()
  expect(log).toEqual(['ended: false', 'close', 'ended: true', 'client hears'])
  log.length = 0
  inner.onclose?.()
  expect(log).toEqual(['ended: true', 'client hears'])
})
