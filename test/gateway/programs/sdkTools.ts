/** The tools of fixtures/sdkTools.ts on standard input and output. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { sdkTools } from '../fixtures/sdkTools.ts'

await sdkTools().connect(new StdioServerTransport())
