/** Servers of products. Their accounts are invented, and calls end before an account would be needed. */
import { call, type CorpusRequest, type Configuration, type Launch } from '../configuration.ts'
import { packageProgram, versionOf } from '../packages.ts'

const BRAVE = '@brave/brave-search-mcp-server'
const CONTEXT7 = '@upstash/context7-mcp'
const NOTION = '@notionhq/notion-mcp-server'
const PERPLEXITY = '@perplexity-ai/mcp-server'
const FIGMA = 'figma-developer-mcp'
const AIRTABLE = 'airtable-mcp-server'
const MONGODB = 'mongodb-mcp-server'
const REFERENCE = '@modelcontextprotocol/server'

const API = 'Each call goes to an API, with the account that it was started with; its process keeps nothing.'
const FRESH = 'It makes a server for each HTTP request, and each call goes to an API.'

/** Each call goes to an API, and the process keeps nothing. */
function statelessStdio(
  name: string,
  asked: CorpusRequest,
  launch: Omit<Launch, 'path'> = { args: [] },
): Configuration {
  return {
    name: `${name}, stdio`,
    version: versionOf(name),
    launch: { ...launch, args: [packageProgram(name), ...launch.args] },
    truth: 'STATELESS',
    because: API,
    proof: { requests: [asked, asked] },
  }
}

/** The same over HTTP without sessions. */
function statelessHttp(name: string, asked: CorpusRequest, launch: Launch): Configuration {
  return { ...statelessStdio(name, asked, launch), name: `${name}, HTTP`, because: FRESH }
}

export const PRODUCTS: readonly Configuration[] = [
  statelessStdio(`${REFERENCE}-github`, call('create_issue'), {
    args: [],
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'x' },
  }),
  statelessStdio(`${REFERENCE}-gitlab`, call('create_issue'), {
    args: [],
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'x' },
  }),
  statelessStdio(`${REFERENCE}-google-maps`, call('none'), { args: [], env: { GOOGLE_MAPS_API_KEY: 'x' } }),
  statelessStdio(`${REFERENCE}-slack`, call('none'), { args: [], env: { SLACK_BOT_TOKEN: 'x', SLACK_TEAM_ID: 'x' } }),
  {
    ...statelessStdio(`${REFERENCE}-postgres`, call('none'), { args: ['postgresql://127.0.0.1:1/none'] }),
    because: 'Each query is a transaction of its own, which is rolled back (dist/index.js).',
  },
  {
    ...statelessStdio('@eslint/mcp', call('lint-files')),
    because: 'Each call makes an ESLint of its own, which reads the files (src/mcp-server.js).',
  },
  statelessStdio('tavily-mcp', call('none'), { args: [], env: { TAVILY_API_KEY: 'x' } }),
  statelessStdio('firecrawl-mcp', call('firecrawl_scrape'), { args: [], env: { FIRECRAWL_API_KEY: 'fc-x' } }),
  statelessStdio(BRAVE, call('brave_web_search'), { args: ['--transport', 'stdio'], env: { BRAVE_API_KEY: 'x' } }),
  statelessHttp(BRAVE, call('brave_web_search'), {
    args: ['--transport', 'http', '--stateless', 'true', '--port', '{port}'],
    env: { BRAVE_API_KEY: 'x' },
    path: '/mcp',
  }),
  {
    ...statelessStdio(BRAVE, call('brave_web_search')),
    name: `${BRAVE}, HTTP with sessions`,
    launch: {
      args: [packageProgram(BRAVE), '--transport', 'http', '--port', '{port}'],
      env: { BRAVE_API_KEY: 'x' },
      path: '/mcp',
    },
    truth: 'STATEFUL',
    because:
      'It lists its tools for anybody and refuses everything else without its session id (dist/protocols/http.js).',
  },
  statelessStdio(CONTEXT7, call('resolve-library-id')),
  statelessHttp(CONTEXT7, call('resolve-library-id'), {
    args: ['--transport', 'http', '--port', '{port}'],
    path: '/mcp',
  }),
  statelessStdio(NOTION, call('none'), { args: [], env: { NOTION_TOKEN: 'ntn_x' } }),
  {
    ...statelessStdio(NOTION, call('none')),
    name: `${NOTION}, HTTP`,
    launch: {
      args: [packageProgram(NOTION), '--transport', 'http', '--port', '{port}', '--auth-token', 'secret'],
      env: { NOTION_TOKEN: 'ntn_x' },
      path: '/mcp',
      headers: { authorization: 'Bearer secret' },
    },
    truth: 'STATEFUL',
    because: 'It refuses every request without its session id.',
  },
  statelessStdio(PERPLEXITY, call('perplexity_ask'), { args: [], env: { PERPLEXITY_API_KEY: 'x' } }),
  statelessStdio(AIRTABLE, call('list_records'), { args: [], env: { AIRTABLE_API_KEY: 'pat123.abc' } }),
  statelessHttp(AIRTABLE, call('list_records'), {
    args: [],
    env: { AIRTABLE_API_KEY: 'pat123.abc', MCP_TRANSPORT: 'http', PORT: '{port}' },
    path: '/mcp',
  }),
  statelessStdio(FIGMA, call('get_figma_data'), { args: ['--stdio', '--figma-api-key=x', '--no-telemetry'] }),
  statelessHttp(FIGMA, call('get_figma_data'), {
    args: ['--figma-api-key=x', '--no-telemetry', '--port', '{port}'],
    path: '/mcp',
  }),
  {
    name: `${MONGODB}, stdio`,
    version: versionOf(MONGODB),
    launch: { args: [packageProgram(MONGODB), '--telemetry', 'disabled'] },
    truth: 'STATEFUL',
    because: 'Its process keeps the connections that its tool connect opened, under ids that no other process knows.',
    proof: {
      package: '@mongodb-js/mcp-tools-mongodb',
      file: 'dist/common/connectionStore.js',
      line: 'this.entries = new Map();',
    },
  },
]
