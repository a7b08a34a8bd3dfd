/** The official clients of both major versions, over each transport, in each era, with layers on. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { compose, echoFetch, type Layer, modern, modernFetch } from 'pannier/client'
import { createServer } from 'pannier/server'
import { fileURLToPath } from 'node:url'
import { commandOf, type Instance, KEYS, quiet } from '../interop/instances.ts'
import type { Loose } from './fakeTransport.ts'
import { offerAll } from './offer.ts'

/** What the clients of both versions have in common, and these tests use. */
export type AnyClient = Pick<ClientV2, 'getServerVersion' | 'listTools' | 'getPrompt' | 'readResource' | 'close'> & {
  onerror?: (error: Error) => void
  callTool(...args: unknown[]): Promise<unknown>
  getProtocolEra?(): string | undefined
}

/** Calls a tool. The clients have their options in different places. */
export function callTool(client: AnyClient, name: string, args: object = {}, options: object = {}): Promise<Loose> {
  const isV2 = client.getProtocolEra !== undefined
  return client.callTool({ name, arguments: args }, ...(isV2 ? [options] : [undefined, options]))
}

export interface Way {
  readonly name: string
  readonly era: 'legacy' | 'modern'
  connect(url: string, layer: Layer, capabilities?: object): Promise<AnyClient>
}

const program = commandOf(fileURLToPath(new URL('programs/offer.ts', import.meta.url)))
const me = { name: 'layers-test', version: '1' }
const v1 = (capabilities: object) => new ClientV1(me, { capabilities }) as unknown as AnyClient
const v2 = (mode: 'legacy' | 'auto') => (capabilities: object) =>
  new ClientV2(me, { capabilities, versionNegotiation: { mode } }) as unknown as AnyClient

function way(
  name: string,
  era: Way['era'],
  makeClient: (capabilities: object) => AnyClient,
  transport: (url: string, layer: Layer) => object,
): Way {
  return {
    name,
    era,
    async connect(url, layer, capabilities = {}) {
      const client = makeClient(capabilities)
      await (client as unknown as ClientV2).connect(transport(url, layer) as never)
      return client
    },
  }
}

export const ways: readonly Way[] = [
  way('v1 over HTTP in a session', 'legacy', v1, (url, layer) =>
    layer(new HttpV1(new URL(url), { fetch: echoFetch() })),
  ),
  way('v1 over HTTP through modern()', 'modern', v1, (url, layer) =>
    compose(layer, modern())(new HttpV1(new URL(url), { fetch: modernFetch() })),
  ),
  way('v1 over stdio in a session', 'legacy', v1, (_, layer) => layer(new StdioV1(program))),
  way('v1 over stdio through modern()', 'modern', v1, (_, layer) => compose(layer, modern())(new StdioV1(program))),
  way('v2 over HTTP in a session', 'legacy', v2('legacy'), (url, layer) =>
    layer(new HttpV2(new URL(url), { fetch: echoFetch() })),
  ),
  way('v2 over HTTP, negotiated', 'modern', v2('auto'), (url, layer) => layer(new HttpV2(new URL(url)))),
  way('v2 over stdio in a session', 'legacy', v2('legacy'), (_, layer) => layer(new StdioV2(program))),
  way('v2 over stdio, negotiated', 'modern', v2('auto'), (_, layer) => layer(new StdioV2(program))),
]

export async function startLayersServer(): Promise<Instance> {
  const server = offerAll(createServer({ name: 'layers', version: '1.0.0', keys: KEYS, logger: quiet }))
  const { url } = await server.listen()
  return { server, url, close: () => void server.drain({ deadlineMs: 0 }) }
}

export const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
export const accept = (content: Record<string, unknown>) => ({ action: 'accept', content })
