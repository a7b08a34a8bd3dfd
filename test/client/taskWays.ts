/** Clients of both SDK versions that follow tasks, over each transport and in each dialect. */
import {
  Client as ClientV2,
  InMemoryTransport as MemoryV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport as MemoryV1 } from '@modelcontextprotocol/sdk/inMemory.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { compose, deadline, type Layer, modern, modernFetch, tasksFetch } from 'pannier/client'
import type { Server } from 'pannier/server'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { commandOf } from '../interop/instances.ts'
import type { Loose } from './fakeTransport.ts'
import type { AnyClient } from './ways.ts'

export interface Place {
  readonly server: Server
  readonly url: string
}

export interface TaskWay {
  readonly name: string
  /** `published`: the client declares nothing of ours, and answers by its own handler. */
  readonly dialect: 'modern' | 'seed' | 'published'
  /** Another connection reaches the same tasks. */
  readonly isShared: boolean
  connect(place: Place, layer: Layer, form?: (params: Loose) => Loose): Promise<AnyClient>
}

const program = commandOf(fileURLToPath(new URL('programs/taskShop.ts', import.meta.url)))
const me = { name: 'tasks-test', version: '1' }

type Form = (params: Loose) => Loose
type Make = (form: Form | undefined) => AnyClient

const v1: Make = (form) => {
  const client = new ClientV1(me, { capabilities: form ? { elicitation: {} } : {} })
  if (form) client.setRequestHandler(ElicitRequestSchema, ({ params }) => form(params))
  return client as unknown as AnyClient
}
const v2 =
  (mode: 'legacy' | 'auto'): Make =>
  (form) => {
    const client = new ClientV2(me, { capabilities: form ? { elicitation: {} } : {}, versionNegotiation: { mode } })
    if (form) client.setRequestHandler('elicitation/create', ({ params }) => form(params))
    return client
  }

type Open = (place: Place, layer: Layer) => object

function way(name: string, dialect: TaskWay['dialect'], make: Make, open: Open): TaskWay {
  return {
    name,
    dialect,
    isShared: !name.includes('stdio'),
    async connect(place, layer, form) {
      const client = make(form)
      await (client as unknown as ClientV2).connect(open(place, compose(layer, deadline(20_000))) as never)
      return client
    },
  }
}

/** A server's lines in the same process, as an in-memory transport of an SDK. */
function memory(Memory: typeof MemoryV1 | typeof MemoryV2, server: Server): object {
  const [near, far] = Memory.createLinkedPair()
  const [input, output] = [new PassThrough(), new PassThrough()]
  void server.stdio({ input, output, drainOnTerm: false })
  far.onmessage = (message: unknown) => void input.write(`${JSON.stringify(message)}\n`)
  far.onclose = () => void input.end()
  createInterface(output).on('line', (line) => void far.send(JSON.parse(line) as never))
  return near
}

export const taskWays: readonly TaskWay[] = [
  way('v1 over HTTP in a session', 'seed', v1, ({ url }, layer) => layer(new HttpV1(new URL(url)))),
  way('v1 over HTTP, as published', 'published', v1, ({ url }, layer) => layer(new HttpV1(new URL(url)))),
  way('v1 over HTTP through modern()', 'modern', v1, ({ url }, layer) =>
    compose(layer, modern())(new HttpV1(new URL(url), { fetch: modernFetch() })),
  ),
  way('v1 over stdio in a session', 'seed', v1, (_, layer) => layer(new StdioV1(program))),
  way('v1 in memory through modern()', 'modern', v1, ({ server }, layer) =>
    compose(layer, modern())(memory(MemoryV1, server)),
  ),
  way('v2 over HTTP in a session', 'seed', v2('legacy'), ({ url }, layer) => layer(new HttpV2(new URL(url)))),
  way('v2 over HTTP, negotiated', 'modern', v2('auto'), ({ url }, layer) =>
    layer(new HttpV2(new URL(url), { fetch: tasksFetch() })),
  ),
  way('v2 over stdio, negotiated', 'modern', v2('auto'), (_, layer) => layer(new StdioV2(program))),
  way('v2 in memory, as published', 'published', v2('legacy'), ({ server }, layer) => layer(memory(MemoryV2, server))),
]
