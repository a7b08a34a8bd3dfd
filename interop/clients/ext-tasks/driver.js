/** Tasks go through the extension's client, everything else through the SDK's client that it is given. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client'
import { connectionOf, connectV2 } from '../../drivers/sdkV2.js'
import { textOf } from '../../drivers/textOf.js'

const sdk = { Client, StreamableHTTPClientTransport, StdioClientTransport }
const VERSION = '2026-07-28'
const TAKES_TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const CLIENT_INFO = { name: 'ext-tasks', version: '1.0.0' }

/** @type {import('../../driver.ts').Driver} */
export default {
  async open(target, options) {
    const client = await connectV2(sdk, target, options)
    return {
      ...connectionOf(client),
      async callAsTask(name) {
        const dispatch = options.era === 'stateless' ? statelessDispatch(target.url) : {}
        const session = createTaskSessionFromClient(client, { endpointId: 'interop', ...dispatch })
        try {
          const execution = await session.callTool(name, {}, { task: { preference: 'require' } })
          return textOf(resultFromTaskOutcome((await execution.settle()).outcome))
        } finally {
          await session.close()
        }
      },
    }
  },
}

/** The SDK does not send requests of the extension in this era, so that its host has to. */
function statelessDispatch(url) {
  let id = 0
  const rawDispatch = async ({ method, params }) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      'mcp-name': params.name ?? params.taskId,
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })
    const { result, error } = await (await fetch(url, { method: 'POST', headers, body })).json()
    return error === undefined ? { kind: 'result', result } : { kind: 'error', error }
  }
  const framing = { protocolVersion: VERSION, clientInfo: CLIENT_INFO, clientCapabilities: TAKES_TASKS }
  return { rawDispatch, v2RequestFraming: framing }
}
