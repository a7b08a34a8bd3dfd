/** The reference servers of the protocol, and servers that control a browser. */
import { call, type Configuration } from '../configuration.ts'
import { packageProgram, versionOf } from '../packages.ts'

const EVERYTHING = '@modelcontextprotocol/server-everything'
const MEMORY = '@modelcontextprotocol/server-memory'
const FILESYSTEM = '@modelcontextprotocol/server-filesystem'
const THINKING = '@modelcontextprotocol/server-sequential-thinking'
const PUPPETEER = '@modelcontextprotocol/server-puppeteer'
const PLAYWRIGHT = '@playwright/mcp'
const DEVTOOLS = 'chrome-devtools-mcp'

const PLAYWRIGHT_HTTP = ['--headless', '--host', '127.0.0.1', '--allowed-hosts', '*', '--port', '{port}']

const toggled = { requests: [call('toggle-simulated-logging'), call('toggle-simulated-logging')] }
const thought = { thought: 'So it is.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }
const listed = { requests: [{ method: 'tools/list' }] }

export const REFERENCE: readonly Configuration[] = [
  {
    name: `${EVERYTHING}, stdio`,
    version: versionOf(EVERYTHING),
    launch: { args: [packageProgram(EVERYTHING), 'stdio'] },
    truth: 'STATEFUL',
    because: 'Its process keeps what was toggled and the resources that its tools made (dist/resources/session.js).',
    proof: toggled,
  },
  {
    name: `${EVERYTHING}, HTTP`,
    version: versionOf(EVERYTHING),
    launch: { args: [packageProgram(EVERYTHING), 'streamableHttp'], env: { PORT: '{port}' }, path: '/mcp' },
    truth: 'STATEFUL',
    because: 'It refuses every request without its session id (dist/transports/streamableHttp.js).',
    proof: toggled,
  },
  {
    name: `${EVERYTHING}, HTTP+SSE`,
    version: versionOf(EVERYTHING),
    launch: { args: [packageProgram(EVERYTHING), 'sse'], env: { PORT: '{port}' }, path: '/sse' },
    truth: 'STATEFUL',
    because: 'Every answer comes on the stream of the session that the request names (dist/transports/sse.js).',
    proof: toggled,
  },
  {
    name: `${MEMORY}, stdio`,
    version: versionOf(MEMORY),
    launch: { args: [packageProgram(MEMORY)], env: { MEMORY_FILE_PATH: '{folder}/memory.jsonl' } },
    truth: 'STATELESS',
    because: 'Its graph is in a file, which it reads again for each call (loadGraph in dist/index.js).',
    proof: {
      requests: [
        call('create_entities', { entities: [{ name: 'Ann', entityType: 'person', observations: ['sails'] }] }),
        call('read_graph'),
      ],
    },
  },
  {
    name: `${FILESYSTEM}, stdio`,
    version: versionOf(FILESYSTEM),
    launch: { args: [packageProgram(FILESYSTEM), '{folder}'] },
    truth: 'STATELESS',
    because: 'Its folders are named when it is started; its changes are in files.',
    proof: { requests: [call('list_allowed_directories')] },
  },
  {
    name: `${THINKING}, stdio`,
    version: versionOf(THINKING),
    launch: { args: [packageProgram(THINKING)], env: { DISABLE_THOUGHT_LOGGING: 'true' } },
    truth: 'STATEFUL',
    because: 'Its process keeps the thoughts so far and counts them in its answers (thoughtHistory in dist/lib.js).',
    proof: { requests: [call('sequentialthinking', thought), call('sequentialthinking', thought)] },
  },
  {
    name: `${PUPPETEER}, stdio`,
    version: versionOf(PUPPETEER),
    launch: { args: [packageProgram(PUPPETEER)] },
    truth: 'STATEFUL',
    because: 'Its process keeps a browser, its page and the screenshots taken (dist/index.js).',
    proof: { package: PUPPETEER, file: 'dist/index.js', line: 'const screenshots = new Map();' },
  },
  {
    name: `${PLAYWRIGHT}, stdio`,
    version: versionOf(PLAYWRIGHT),
    launch: { args: [packageProgram(PLAYWRIGHT), '--headless'] },
    truth: 'STATEFUL',
    because: 'Its process keeps a browser and the page that the next call works on (currentTab in playwright-core).',
    proof: { package: 'playwright-core', file: 'lib/coreBundle.js', line: 'return this._currentTab;' },
  },
  {
    name: `${PLAYWRIGHT}, HTTP`,
    version: versionOf(PLAYWRIGHT),
    launch: { args: [packageProgram(PLAYWRIGHT), ...PLAYWRIGHT_HTTP], path: '/mcp' },
    truth: 'STATEFUL',
    because: 'It refuses every request without its session id; each session has a browser.',
    proof: listed,
  },
  {
    name: `${PLAYWRIGHT}, HTTP+SSE`,
    version: versionOf(PLAYWRIGHT),
    launch: { args: [packageProgram(PLAYWRIGHT), ...PLAYWRIGHT_HTTP], path: '/sse' },
    truth: 'STATEFUL',
    because: 'Every answer comes on the stream of the session that the request names.',
    proof: listed,
  },
  {
    name: `${DEVTOOLS}, stdio`,
    version: versionOf(DEVTOOLS),
    launch: {
      args: [packageProgram(DEVTOOLS), '--headless'],
      env: { CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS: '1', CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: '1' },
    },
    truth: 'STATEFUL',
    because: 'Its process keeps a browser and the page that was selected (#context in build/src/index.js).',
    proof: { package: DEVTOOLS, file: 'build/src/index.js', line: 'this.#context = await McpContext.from(browser' },
  },
]
