/** Server frameworks. The tool keeps nothing, so the transport alone decides. */
import { join } from 'node:path'
import { call, type Configuration } from '../configuration.ts'
import { versionOf } from '../packages.ts'

const programs = join(import.meta.dirname, '../packages/programs')
const fastmcp = { version: versionOf('fastmcp'), program: join(programs, 'fastmcp.js') }
const hello = { requests: [call('hello'), call('hello')] }

export const FRAMEWORKS: readonly Configuration[] = [
  {
    name: 'fastmcp, HTTP without sessions',
    version: fastmcp.version,
    launch: { args: [fastmcp.program, 'stateless', '{port}'], path: '/mcp' },
    truth: 'STATELESS',
    because: 'Started with stateless, it makes a server for each request.',
    proof: hello,
  },
  {
    name: 'fastmcp, HTTP with sessions',
    version: fastmcp.version,
    launch: { args: [fastmcp.program, 'sessions', '{port}'], path: '/mcp' },
    truth: 'STATEFUL',
    because: 'As it is started by default, it refuses every request without its session id.',
    proof: hello,
  },
  {
    name: 'fastmcp, HTTP+SSE of 2024-11-05',
    version: fastmcp.version,
    launch: { args: [fastmcp.program, 'sessions', '{port}'], path: '/sse' },
    truth: 'STATEFUL',
    because: 'Every answer comes on the stream of the session that the request names.',
    proof: hello,
  },
  {
    name: 'fastmcp, stdio',
    version: fastmcp.version,
    launch: { args: [fastmcp.program, 'stdio'] },
    truth: 'STATELESS',
    because: 'The tool keeps nothing, and its SDK answers clients that did not initialize.',
    proof: hello,
  },
  {
    name: 'mcp-use, HTTP',
    version: versionOf('mcp-use'),
    launch: { args: [join(programs, 'mcpUse.js'), '{port}'], path: '/mcp' },
    truth: 'STATELESS',
    because: 'It makes a server for each request, in both eras.',
    proof: hello,
  },
]
