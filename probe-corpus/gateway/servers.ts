/** Real servers from npm for one mcp.json, each with a call that does no harm. */
import { join } from 'node:path'
import type { Launch } from '../configuration.ts'
import { packageFile, packageProgram, versionOf } from '../packages.ts'

/** Packages that the corpus of the probe does not have. */
const MORE_PACKAGES = join(import.meta.dirname, 'packages')

export interface ServerToServe {
  /** Its name in mcp.json. */
  readonly name: string
  readonly package: string
  readonly version: string
  readonly launch: Launch
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

type Call = readonly [tool: string, args?: Readonly<Record<string, unknown>>]

/** A package of the probe's corpus. */
function known(name: string, from: string, [tool, args = {}]: Call, launch: Launch = { args: [] }): ServerToServe {
  const started = { ...launch, args: [packageProgram(from), ...launch.args] }
  return { name, package: from, version: versionOf(from), launch: started, tool, args }
}

/** A package that is here for the gateway alone. `file`: where its program is not the first that it names. */
function more(name: string, from: string, [tool, args = {}]: Call, file?: string): ServerToServe {
  const program = file === undefined ? packageProgram(from, MORE_PACKAGES) : packageFile(from, file, MORE_PACKAGES)
  return { name, package: from, version: versionOf(from, MORE_PACKAGES), launch: { args: [program] }, tool, args }
}

const REFERENCE = '@modelcontextprotocol/server'
const thought = { thought: 'So it is.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }
const loan = { loan_amount_gbp: 100_000, monthly_interest_rate_pct: 1, term_months: 12 }

export const SERVERS: readonly ServerToServe[] = [
  known('everything', `${REFERENCE}-everything`, ['echo', { message: 'hello' }], { args: ['stdio'] }),
  known('everything-http', `${REFERENCE}-everything`, ['echo', { message: 'hello' }], {
    args: ['streamableHttp'],
    env: { PORT: '{port}' },
    path: '/mcp',
  }),
  known('everything-sse', `${REFERENCE}-everything`, ['echo', { message: 'hello' }], {
    args: ['sse'],
    env: { PORT: '{port}' },
    path: '/sse',
  }),
  known('memory', `${REFERENCE}-memory`, ['read_graph'], { args: [], env: { MEMORY_FILE_PATH: '{folder}/m.jsonl' } }),
  known('filesystem', `${REFERENCE}-filesystem`, ['list_allowed_directories'], { args: ['{folder}'] }),
  known('thinking', `${REFERENCE}-sequential-thinking`, ['sequentialthinking', thought]),
  known('github', `${REFERENCE}-github`, ['create_issue'], { args: [], env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'x' } }),
  known('slack', `${REFERENCE}-slack`, ['slack_post_message'], {
    args: [],
    env: { SLACK_BOT_TOKEN: 'x', SLACK_TEAM_ID: 'x' },
  }),
  known('playwright', '@playwright/mcp', ['browser_close'], { args: ['--headless'] }),
  known('playwright-http', '@playwright/mcp', ['browser_close'], {
    args: ['--headless', '--host', '127.0.0.1', '--allowed-hosts', '*', '--port', '{port}'],
    path: '/mcp',
  }),
  known('eslint', '@eslint/mcp', ['lint-files', { filePaths: ['/nowhere.js'] }]),
  known('mermaid', 'mcp-mermaid', [
    'generate_mermaid_diagram',
    { mermaid: 'graph TD; A-->B', outputType: 'mermaid', theme: 'default', backgroundColor: 'white' },
  ]),
  known('context7-http', '@upstash/context7-mcp', ['resolve-library-id'], {
    args: ['--transport', 'http', '--port', '{port}'],
    path: '/mcp',
  }),
  known('brave-http', '@brave/brave-search-mcp-server', ['brave_web_search'], {
    args: ['--transport', 'http', '--stateless', 'true', '--port', '{port}'],
    env: { BRAVE_API_KEY: 'x' },
    path: '/mcp',
  }),
  more('calculator', '@wrtnlabs/calculator-mcp', ['add', { a: 1, b: 2 }]),
  more('time', 'time-mcp', ['days_in_month', { date: '2026-02-01' }]),
  more('think', 'think-mcp', ['think', { thought: 'So it is.' }]),
  more('starter', 'mcp-starter', ['hello_tool', { name: 'Ann' }]),
  more('bazi', 'bazi-mcp', ['getChineseCalendar', { solarDatetime: '2026-02-01T12:00:00+08:00' }]),
  more('astronomy', 'astronomy-oracle', ['lookup_object', { name: 'M31' }]),
  more('brewers', 'brewers-almanack', ['search_styles', { query: 'stout' }]),
  more('gis', 'gis-dataconversion-mcp', ['wkt_to_geojson', { wkt: 'POINT(1 2)' }]),
  more('cookie', 'mcp-cookie-server', ['check_cookies']),
  more('tokens', 'llm-token-tracker', ['compare_costs', { tokens: 1000 }], 'dist/mcp-server.js'),
  more('debate', 'dbt-mcp', ['list_topics']),
  more('db-access', '@rheopyrin/db-access-mcp', ['dialect_list']),
  more('thinking-tools', 'mcp-sequentialthinking-tools', ['sequentialthinking_tools']),
  more('codex', 'codex-mcp-server', ['ping', { message: 'hello' }]),
  more('gemini', 'gemini-mcp-tool', ['ping', { prompt: 'hello' }]),
  more('sandbox', 'js-sandbox-mcp-server', ['execute_js', { code: '1 + 1' }]),
  more('node', 'mcp-node', ['get-node-version']),
  more('micromanage', '@yodakeisuke/mcp-micromanage', ['track']),
  more('onepiece', 'onepiece-oracle', ['browse_leaders']),
  more('bash', 'bash-mcp', ['list_background']),
  more('validator', '@rtuin/mcp-mermaid-validator', ['validateMermaid']),
  more('sushi', '@chriswhiterocks/sushimcp', ['list_llms_txt_sources']),
  more('signer', '@usenami/signer-mcp', ['list_venues']),
  more('property', '@fdcommercial/property-finance-mcp', ['bridging_cost_analyser', loan], 'dist/index-stdio.js'),
  more('figma', 'mcp-figma', ['check_api_key']),
  more('git', 'mcp-git', ['git_status', { repo_path: '/nowhere' }]),
  more('opik', 'opik-mcp', ['get-server-info']),
]
