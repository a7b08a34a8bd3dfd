import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as types from '@modelcontextprotocol/sdk/types.js'
import { throughHttp } from '../../drivers/proxied.js'
import { sdkV1Driver } from '../../drivers/sdkV1.js'

const sdk = sdkV1Driver({ Client, StdioClientTransport, StreamableHTTPClientTransport, types })
const program = fileURLToPath(new URL('node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs', import.meta.url))
const UPSTREAM = { session: 'legacy', stateless: 'modern' }

/** @type {import('../../driver.ts').Driver} */
export default {
  open: ({ command, args }, options) =>
    throughHttp(sdk, options, (port) => [
      program,
      '--host',
      '127.0.0.1',
      '--port',
      port,
      '--upstreamProtocol',
      UPSTREAM[options.era],
      '--',
      command,
      ...args,
    ]),
}
