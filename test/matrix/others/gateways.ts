/**
 * Gateways and proxies of others: how their documentation says they are started, between which clients and servers, and what
 * it names of what a call can do. Tools, their results and their errors count as named by each; anything else only where its
 * documentation names it.
 */
import { join } from 'node:path'
import { root } from '../../../scripts/repository.ts'
import { quickStart } from '../../bundle/environment.ts'
import { BEHAVIOURS } from '../behaviours.ts'
import type { Cell } from '../cells.ts'
import type { ClientKind } from '../clients/kinds.ts'
import { type GatewayCommand, PANNIER, type ServerEntry } from '../fleet/gateways.ts'
import type { ServerName } from '../fleet/servers.ts'

export interface OtherGateway {
  readonly name: string
  /** The npm package, pinned in its folder in `interop/gateways`; ours has none. */
  readonly package?: string
  /** What its documentation says that it does, in a few words. */
  readonly says: string
  readonly pairs: readonly (readonly [ClientKind, ServerName])[]
  /** Whether its documentation names it. */
  readonly claims: (cell: Cell) => boolean
  readonly command: GatewayCommand
  /** How several of them are started. @default the same; undefined where each client has its own */
  readonly two?: GatewayCommand
  /** What was seen when it was looked why something named does not work. */
  readonly notes?: string
  /** Whether its documentation says that several may stand behind a balancer. */
  readonly claimsTwo?: true
}

const CALLS = ['a plain call', 'structured results', 'errors']
const ASKS = Object.keys(BEHAVIOURS).filter((name) => BEHAVIOURS[name]?.isAsked && !BEHAVIOURS[name]?.needsTasks)

const named =
  (...names: readonly string[]) =>
  ({ behaviour }: Cell): boolean =>
    CALLS.includes(behaviour) || names.includes(behaviour)

const packages = join(root, 'interop/gateways')

export function folderOf(name: string): string {
  return join(packages, name)
}

/** `path`: of the program, in its folder. */
function node(path: string, ...args: readonly string[]): Pick<GatewayCommand, 'command' | 'args'> {
  return { command: process.execPath, args: [join(packages, path), ...args] }
}

const MCP_PROXY = ['--host', '127.0.0.1', '--port', 'PORT', '--upstreamProtocol', 'auto']
const SUPERGATEWAY = ['--stdio', 'LINE', '--outputTransport', 'streamableHttp', '--port', 'PORT', '--logLevel', 'none']

/** By its documentation a list of servers; it reads this. */
const fiberplaneFile = (entry: ServerEntry): unknown => ({
  mcpServers: { tools: 'url' in entry ? entry : { type: 'stdio', sessionMode: 'isolated', ...entry } },
})

export const OTHERS: readonly OtherGateway[] = [
  {
    name: 'pannier',
    says: 'clients and servers of both eras; any number of replicas',
    pairs: (['v1', 'v2 stateless'] as const).flatMap((client) =>
      (['v1', 'v2', 'v1-stdio', 'v2-stdio'] as const).map((server) => [client, server] as const),
    ),
    claims: () => true,
    claimsTwo: true,
    command: {
      command: PANNIER.command,
      args: PANNIER.args,
      env: {
        ...quickStart,
        PANNIER_KEYS: 'KEYS',
        PANNIER_ADVERTISE: 'http://127.0.0.1:PORT',
        PANNIER_PEERS: 'http://127.0.0.1:FRONT',
      },
    },
  },
  {
    name: 'mcp-proxy',
    package: 'mcp-proxy',
    says: 'one stdio server over HTTP, both eras; not what asks the client; log messages go to all clients',
    pairs: (['v1', 'v2 stateless'] as const).flatMap((client) =>
      (['v1-stdio', 'v2-stdio'] as const).map((server) => [client, server] as const),
    ),
    claims: named('progress', 'cancellation by the client', 'list changes', 'resource updates', 'pagination'),
    notes:
      'Notifications of progress that come right before the result may get lost; here three of them and the result come right after each other.',
    command: {
      ...node('mcp-proxy/node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs', ...MCP_PROXY, '--', 'COMMAND'),
      prefix: '',
    },
    two: {
      ...node('mcp-proxy/node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs', ...MCP_PROXY, '--stateless', '--', 'COMMAND'),
      prefix: '',
    },
    claimsTwo: true,
  },
  {
    name: 'supergateway',
    package: 'supergateway',
    says: 'one stdio server over HTTP, client and server of the same era; questions of the stateless era',
    pairs: [
      ['v1', 'v1-stdio'],
      ['v2 stateless', 'v2-stdio'],
    ],
    claims: (cell) => named('pagination', ...(cell.client === 'v1' ? [] : ASKS))(cell),
    command: {
      ...node(
        'supergateway/node_modules/supergateway/dist/index.js',
        ...SUPERGATEWAY,
        '--stateful',
        '--sessionTimeout',
        '20000',
      ),
      prefix: '',
    },
    two: { ...node('supergateway/node_modules/supergateway/dist/index.js', ...SUPERGATEWAY), prefix: '' },
  },
  {
    name: 'mcp-hub',
    package: 'mcp-hub',
    says: 'many servers of the session era at one endpoint; not roots, not sampling',
    pairs: [
      ['v1', 'v1-stdio'],
      ['v1', 'v1'],
    ],
    claims: named('list changes', 'pagination'),
    notes:
      'It tells clients of a changed list where names come or go; here a description changes. Of a list in pages it takes the first. ' +
      'A server that was killed was not called again within a minute.',
    command: {
      ...node('mcp-hub/node_modules/mcp-hub/dist/cli.js', '--port', 'PORT', '--config', 'FILE'),
      file: (entry) => ({ mcpServers: { tools: entry } }),
      isSse: true,
      prefix: 'tools__',
    },
  },
  {
    name: 'mcp-remote',
    package: 'mcp-remote',
    says: 'a process for each client on stdio, before an HTTP server of either era; not URL mode of the stateless era',
    pairs: [
      ['v1', 'v1'],
      ['v1', 'v2'],
    ],
    claims: (cell) =>
      cell.server === 'v1' ||
      (cell.behaviour !== 'URL mode' &&
        named('list changes', 'resource updates', 'log messages', 'pagination', ...ASKS)(cell)),
    command: {
      ...node('mcp-remote/node_modules/mcp-remote/dist/proxy.js', 'URL', '--allow-http', '--protocol', 'auto'),
      prefix: '',
      isPerClient: true,
    },
  },
  {
    name: 'fiberplane-gateway',
    package: '@fiberplane/mcp-gateway',
    says: 'passes requests to many servers of the session era, and records them',
    pairs: [
      ['v1', 'v1'],
      ['v1', 'v1-stdio'],
    ],
    claims: named('pagination'),
    command: {
      ...node(
        'fiberplane-gateway/node_modules/@fiberplane/mcp-gateway/bin/mcp-gateway.js',
        '--port',
        'PORT',
        '--storage-dir',
        'FOLDER',
      ),
      file: fiberplaneFile,
      path: '/s/tools/mcp',
      prefix: '',
    },
  },
  {
    name: 'mcporter',
    package: 'mcporter',
    says: '`mcporter serve`: the tools of many servers of the session era, kept by a daemon',
    pairs: [
      ['v1', 'v1-stdio'],
      ['v1', 'v1'],
    ],
    claims: named(),
    command: {
      ...node('mcporter/node_modules/mcporter/dist/cli.js', '--config', 'FILE', 'serve', '--http', 'PORT'),
      file: (entry) => ({ mcpServers: { tools: { ...entry, lifecycle: 'keep-alive' } }, imports: [] }),
      prefix: 'tools__',
    },
  },
]
