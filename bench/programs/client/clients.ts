/** The clients of the official SDK: bare, with our layers, and made by `connect`. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { compose, connect, defaults, echo, echoFetch, jar, type Layer, rounds, scope } from 'pannier/client'
import { memoryJar } from 'pannier/state'
import type { ClientRole, ClientSetup } from '../role.ts'

/** What the clients of SDK v1 and v2 have in common. */
export interface AnyClient {
  transport?: unknown
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
}

const ME = { name: 'pannier-bench', version: '1.0.0' }
const answerers = { form: defaults() }

export async function openClient(role: ClientRole, setup: ClientSetup): Promise<AnyClient> {
  if (setup === 'connect') return connectClient(role)
  const transport = setup === 'bare' ? transportFor(role) : layersFor(role)(transportFor(role, echoFetch()))
  const client = clientFor(role)
  await client.connect(transport as never)
  return client
}

function connectClient({ era, server }: ClientRole): Promise<AnyClient> {
  // Without `allowLocal` no state is kept for a server on this machine, and the jar's layer would be missing.
  const options = { ...ME, answerers, allowLocal: true }
  return connect(server, era === 'session' ? { ...options, prior: { kind: 'legacy' } } : options)
}

function clientFor({ sdk, era }: ClientRole): ClientV1 | ClientV2 {
  if (sdk === 'v1') return new ClientV1(ME)
  return new ClientV2(ME, { versionNegotiation: { mode: era === 'session' ? 'legacy' : 'auto' } })
}

function transportFor({ sdk, server }: ClientRole, fetch?: ReturnType<typeof echoFetch>): object {
  const [Http, Stdio] = sdk === 'v1' ? [HttpV1, StdioV1] : [HttpV2, StdioV2]
  if (typeof server === 'string') return new Http(new URL(server), fetch && { fetch })
  return new Stdio({ command: server[0] ?? '', args: server.slice(1) })
}

/**
 * The same layers for both eras, because a host does not know a server's era beforehand. HTTP has `echoFetch` in place
 * of `echo`.
 */
function layersFor({ server }: ClientRole): Layer {
  const owner = { server: 'bench.example.com', principal: 'ann', context: 'bench' }
  const layers = compose(rounds({ answerers }), scope(), jar(memoryJar(), owner))
  return typeof server === 'string' ? layers : compose(layers, echo())
}
