/** The client under test: `node --conditions=pannier-source conformance/client.ts URL`, with the scenario in the environment. */
import { readContext } from './client/context.ts'
import { scenarioOf } from './client/scenarios.ts'

const name = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const url = process.argv[2]
const scenario = scenarioOf(name)
if (url === undefined || scenario === undefined) throw new Error(`There is nothing to do for the scenario "${name}".`)
await scenario(url, readContext(process.env['MCP_CONFORMANCE_CONTEXT']))
