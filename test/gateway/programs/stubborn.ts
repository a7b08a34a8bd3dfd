/** A server that goes on when its input ends, and when it is told to end. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { sdkTools } from '../fixtures/sdkTools.ts'

process.on('SIGTERM', () => {})
setInterval(() => {}, 60_000)
await sdkTools().connect(new StdioServerTransport())
