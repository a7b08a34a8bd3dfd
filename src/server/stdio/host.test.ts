import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { localBus } from '../lifecycle/eventBus.ts'
import type { Pipeline } from '../calls/pipeline.ts'
import type { Pushes } from '../legacy/push.ts'
import { SessionNotes } from '../legacy/sessionFacts.ts'
import { serveStdio } from './host.ts'

test('a request is answered, and the connection ends well, also where the pipeline itself fails', async () => {
  const bus = localBus()
  const pipeline = { answer: () => Promise.reject(new Error('secret')) } as unknown as Pipeline
  const parts = { pipeline, pushes: {} as Pushes, notes: new SessionNotes(bus, Date.now), bus, legacy: true }
  const [input, output] = [new PassThrough(), new PassThrough()]
  input.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
  await serveStdio(parts, { input, output }, new Set())
  output.end()
  expect(JSON.parse(await text(output))).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32603, message: 'Internal error.' },
  })
})
