/** The tools of workTools.ts on standard input and output. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { workTools } from '../workTools.ts'

await workTools().connect(new StdioServerTransport())
