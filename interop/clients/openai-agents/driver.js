import { MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents'
import { textOf } from '../../drivers/textOf.js'

const patience = { clientSessionTimeoutSeconds: 60, timeout: 60_000 }

/** @type {import('../../driver.ts').Driver} */
export default {
  async open(target) {
    const server =
      'url' in target
        ? new MCPServerStreamableHttp({ ...patience, url: target.url, name: 'interop' })
        : new MCPServerStdio({ ...patience, ...target, name: 'interop' })
    await server.connect()
    return {
      list: async () => (await server.listTools()).map(({ name }) => name),
      call: async (name, args, { signal }) =>
        textOf(await server.callToolResult(name, args, null, signal && { signal })),
      close: () => server.close(),
    }
  },
}
