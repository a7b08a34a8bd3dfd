/** The tasks of the official SDK v1, on standard input and output. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { sdkTasks } from '../../client/fixtures/servers/tasksSdkV1.ts'

await sdkTasks().connect(new StdioServerTransport())
