/** Servers that were recorded on stdio, over HTTP: with sessions, without, and with the older transport. */
import { call, type Configuration } from '../configuration.ts'
import { packageProgram, versionOf } from '../packages.ts'

const CHARTS = '@antv/mcp-server-chart'
const MERMAID = 'mcp-mermaid'
const DEEPSEEK = '@arikusi/deepseek-mcp-server'

/** These two take the same options. */
function rendering(name: string): readonly Configuration[] {
  const program = (transport: string): readonly string[] => [packageProgram(name), '-t', transport, '-p', '{port}']
  const common = { version: versionOf(name), proof: { requests: [call('none'), call('none')] } }
  return [
    {
      ...common,
      name: `${name}, HTTP`,
      launch: { args: program('streamable'), path: '/mcp' },
      truth: 'STATELESS',
      because: 'It makes a server for each HTTP request, and each call renders what it is given.',
    },
    {
      ...common,
      name: `${name}, HTTP+SSE`,
      launch: { args: program('sse'), path: '/sse' },
      truth: 'STATEFUL',
      because: 'Every answer comes on the stream of the session that the request names.',
    },
  ]
}

export const OVER_HTTP: readonly Configuration[] = [
  ...rendering(CHARTS),
  ...rendering(MERMAID),
  {
    name: `${DEEPSEEK}, HTTP`,
    version: versionOf(DEEPSEEK),
    launch: {
      args: [packageProgram(DEEPSEEK)],
      env: { TRANSPORT: 'http', HTTP_PORT: '{port}', DEEPSEEK_API_KEY: 'invented' },
      path: '/mcp',
    },
    truth: 'STATEFUL',
    because: 'It refuses every request without its session id; and it keeps conversations.',
    proof: { requests: [call('deepseek_sessions', { action: 'list' })] },
  },
]
