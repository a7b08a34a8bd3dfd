/** The official SDK, v1 and v2, with each of its transports. The tool keeps nothing, so the transport alone decides. */
import { join } from 'node:path'
import { call, type Configuration } from '../configuration.ts'
import { ownVersionOf } from '../packages.ts'

const programs = join(import.meta.dirname, '../programs')
const v1 = { title: 'SDK v1', program: 'sdkV1.ts', version: ownVersionOf('@modelcontextprotocol/sdk') }
const v2 = { title: 'SDK v2', program: 'sdkV2.ts', version: ownVersionOf('@modelcontextprotocol/server') }

type Served = Pick<Configuration, 'truth' | 'because' | 'proof'>

const older = { requests: [call('hello'), call('hello')] }
const newer = { ...older, era: 'modern' } as const

const alone: Served = {
  truth: 'STATELESS',
  because: 'The transport makes no sessions, and the tool keeps nothing.',
  proof: older,
}
const sessions: Served = {
  truth: 'STATEFUL',
  because: 'The transport gives out a session id and refuses every request without one.',
  proof: older,
}
const streams: Served = {
  truth: 'STATEFUL',
  because: 'Every answer comes on the stream of the session that the request names.',
  proof: older,
}
const handler: Served = {
  truth: 'STATELESS',
  because: 'The handler makes a server for each request.',
  proof: newer,
}
const program: Served = {
  truth: 'STATELESS',
  because: 'The tool keeps nothing, and the SDK answers clients that did not initialize.',
  proof: older,
}
const newerProcess: Served = {
  truth: 'STATELESS',
  because: 'The tool keeps nothing, and every request has all that the SDK needs.',
  proof: newer,
}

function serving(sdk: typeof v1, name: string, mode: string, served: Served): Configuration {
  const args = [join(programs, sdk.program), mode, '{port}']
  const launch = mode.startsWith('stdio') ? { args } : { args, path: mode === 'sse' ? '/sse' : '/mcp' }
  return { name: `${sdk.title}, ${name}`, version: sdk.version, launch, ...served }
}

export const OFFICIAL_SDK: readonly Configuration[] = [
  serving(v1, 'HTTP without sessions, JSON answers', 'stateless-json', alone),
  serving(v1, 'HTTP without sessions, SSE answers', 'stateless-sse', alone),
  serving(v1, 'HTTP with sessions, JSON answers', 'sessions-json', sessions),
  serving(v1, 'HTTP with sessions, SSE answers', 'sessions-sse', sessions),
  serving(v1, 'HTTP+SSE of 2024-11-05', 'sse', streams),
  serving(v1, 'stdio', 'stdio', program),
  serving(v2, 'HTTP, both eras, JSON answers', 'handler-json', handler),
  serving(v2, 'HTTP, both eras, SSE answers', 'handler-sse', handler),
  serving(v2, 'HTTP, older era rejected', 'handler-reject', handler),
  serving(v2, 'HTTP without sessions, JSON answers', 'stateless-json', alone),
  serving(v2, 'HTTP without sessions, SSE answers', 'stateless-sse', alone),
  serving(v2, 'HTTP with sessions, JSON answers', 'sessions-json', sessions),
  serving(v2, 'HTTP with sessions, SSE answers', 'sessions-sse', sessions),
  serving(v2, 'stdio, both eras', 'stdio', newerProcess),
  serving(v2, 'stdio, older era rejected', 'stdio-reject', newerProcess),
  serving(v2, 'stdio, older era alone', 'stdio-older', program),
]
