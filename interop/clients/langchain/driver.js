import { MultiServerMCPClient } from '@langchain/mcp-adapters'

/** @type {import('../../driver.ts').Driver} */
export default {
  async open(target) {
    let heard = () => {}
    const server = 'url' in target ? { transport: 'http', url: target.url } : { transport: 'stdio', ...target }
    const client = new MultiServerMCPClient({
      mcpServers: { interop: server },
      onProgress: ({ progress }) => heard(progress),
    })
    await client.initializeConnections()
    return {
      list: async () => (await client.getTools()).map(({ name }) => name),
      call: async (name, args, { signal, onProgress = () => {} }) => {
        heard = onProgress
        const tool = (await client.getTools()).find((one) => one.name === name)
        const result = await tool.invoke(args, signal && { signal })
        return typeof result === 'string' ? result : JSON.stringify(result)
      },
      close: () => client.close(),
    }
  },
}
