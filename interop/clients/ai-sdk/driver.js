import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp'
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio'
import { textOf } from '../../drivers/textOf.js'

/** @type {import('../../driver.ts').Driver} */
export default {
  async open(target, { answers, era }) {
    const client = await createMCPClient({
      transport: 'url' in target ? { type: 'http', url: target.url } : stdioTransport(target),
      capabilities: { elicitation: {} },
      protocolVersionDiscovery: era === 'stateless',
    })
    client.onElicitationRequest(ElicitationRequestSchema, answers.elicit)
    return {
      list: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, args, { signal }) =>
        textOf(await client.callTool({ name, arguments: args, ...(signal && { options: { signal } }) })),
      close: () => client.close(),
    }
  },
}

/** By default a server that needs more than a second to start counts as one of the session era. */
function stdioTransport(target) {
  return Object.assign(new StdioMCPTransport({ ...target, stderr: 'ignore' }), {
    waitsForProtocolVersionDiscovery: true,
  })
}
