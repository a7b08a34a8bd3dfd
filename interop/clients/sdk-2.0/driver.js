import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { sdkV2Driver } from '../../drivers/sdkV2.js'

export default sdkV2Driver({ Client, StdioClientTransport, StreamableHTTPClientTransport })
