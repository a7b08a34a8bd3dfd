import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as types from '@modelcontextprotocol/sdk/types.js'
import { throughHttp, throughStdio } from '../../drivers/proxied.js'
import { sdkV1Driver } from '../../drivers/sdkV1.js'

const sdk = sdkV1Driver({ Client, StdioClientTransport, StreamableHTTPClientTransport, types })
const program = fileURLToPath(new URL('node_modules/supergateway/dist/index.js', import.meta.url))

/** @type {import('../../driver.ts').Driver} From HTTP to stdio, or from stdio to HTTP. */
export default {
  open: (target, options) =>
    'url' in target
      ? throughStdio(sdk, options, [program, '--streamableHttp', target.url, '--logLevel', 'none'])
      : throughHttp(sdk, options, (port) => [
          program,
          '--stdio',
          [target.command, ...target.args].join(' '),
          '--outputTransport',
          'streamableHttp',
          '--stateful',
          '--logLevel',
          'none',
          '--port',
          port,
        ]),
}
