import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as types from '@modelcontextprotocol/sdk/types.js'
import { throughStdio } from '../../drivers/proxied.js'
import { sdkV1Driver } from '../../drivers/sdkV1.js'

const sdk = sdkV1Driver({ Client, StdioClientTransport, StreamableHTTPClientTransport, types })
const program = fileURLToPath(new URL('node_modules/mcp-remote/dist/proxy.js', import.meta.url))
const PROTOCOLS = { session: 'legacy', stateless: 'auto' }

/** @type {import('../../driver.ts').Driver} */
export default {
  open: (target, options) =>
    throughStdio(sdk, options, [
      program,
      target.url,
      '--allow-http',
      '--transport',
      'http-only',
      '--protocol',
      PROTOCOLS[options.era],
    ]),
}
