/** Servers of products. Accounts are made up, and calls end before they would need one. */
import { call, type Asked, type Configuration, type Launch } from '../configuration.ts'
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

/** Each call goes to somewhere else, and nothing stays behind. */
function passing(name: string, asked: Asked, launch: Omit<Launch, 'path'> = { args: [] }): Configuration {
  return {
    name: `${name}, stdio`,
    version: versionOf(name),
    launch: { ...launch, args: [packageProgram(name), ...launch.args] },
    truth: 'STATELESS',
    because: API,
    proof: { requests: [asked, asked] },
  }
}

/** The same over HTTP, where it keeps no sessions. */
function passingHttp(name: string, asked: Asked, launch: Launch): Configuration {
  return { ...passing(name, asked, launch), name: `${name}, HTTP`, because: FRESH }
}

export const PRODUCTS: readonly Configuration[] = [
  passing(`${REFERENCE}-github`, call('create_issue'), {
    args: [],
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'x' },
  }),
  passing(`${REFERENCE}-gitlab`, call('create_issue'), {
    args: [],
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'x' },
  }),
  passing(`${REFERENCE}-google-maps`, call('none'), { args: [], env: { GOOGLE_MAPS_API_KEY: 'x' } }),
  passing(`${REFERENCE}-slack`, call('none'), { args: [], env: { SLACK_BOT_TOKEN: 'x', SLACK_TEAM_ID: 'x' } }),
  {
    ...passing(`${REFERENCE}-postgres`, call('none'), { args: ['postgresql://127.0.0.1:1/none'] }),
    because: 'Each query is a transaction of its own, which is rolled back (dist/index.js).',
  },
  {
    ...passing('@eslint/mcp', call('lint-files')),
    because: 'Each call makes an ESLint of its own, which reads the files (src/mcp-server.js).',
  },
  passing('tavily-mcp', call('none'), { args: [], env: { TAVILY_API_KEY: 'x' } }),
  passing('firecrawl-mcp', call('firecrawl_scrape'), { args: [], env: { FIRECRAWL_API_KEY: 'fc-x' } }),
  passing(BRAVE, call('brave_web_search'), { args: ['--transport', 'stdio'], env: { BRAVE_API_KEY: 'x' } }),
  passingHttp(BRAVE, call('brave_web_search'), {
    args: ['--transport', 'http', '--stateless', 'true', '--port', '{port}'],
    env: { BRAVE_API_KEY: 'x' },
    path: '/mcp',
  }),
  {
    ...passing(BRAVE, call('brave_web_search')),
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
  passing(CONTEXT7, call('resolve-library-id')),
  passingHttp(CONTEXT7, call('resolve-library-id'), {
    args: ['--transport', 'http', '--port', '{port}'],
    path: '/mcp',
  }),
  passing(NOTION, call('none'), { args: [], env: { NOTION_TOKEN: 'ntn_x' } }),
  {
    ...passing(NOTION, call('none')),
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
  passing(PERPLEXITY, call('perplexity_ask'), { args: [], env: { PERPLEXITY_API_KEY: 'x' } }),
  passing(AIRTABLE, call('list_records'), { args: [], env: { AIRTABLE_API_KEY: 'pat123.abc' } }),
  passingHttp(AIRTABLE, call('list_records'), {
    args: [],
    env: { AIRTABLE_API_KEY: 'pat123.abc', MCP_TRANSPORT: 'http', PORT: '{port}' },
    path: '/mcp',
  }),
  passing(FIGMA, call('get_figma_data'), { args: ['--stdio', '--figma-api-key=x', '--no-telemetry'] }),
  passingHttp(FIGMA, call('get_figma_data'), {
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
