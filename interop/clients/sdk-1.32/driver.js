import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as types from '@modelcontextprotocol/sdk/types.js'
import { sdkV1Driver } from '../../drivers/sdkV1.js'

export default sdkV1Driver({ Client, StdioClientTransport, StreamableHTTPClientTransport, types })
