import { MCPClient } from 'mcp-use/client'
import { textOf } from '../../drivers/textOf.js'

/** @type {import('../../driver.ts').Driver} */
export default {
  async open(target, { answers }) {
    const client = new MCPClient(
      { mcpServers: { interop: 'url' in target ? { url: target.url } : { ...target } } },
      { onElicitation: async () => answers.elicit(), onSampling: async () => answers.sample() },
    )
    const session = await client.createSession('interop')
    return {
      list: async () => (await session.listTools()).map(({ name }) => name),
      call: async (name, args, { signal, onProgress }) => {
        const onprogress = onProgress && (({ progress }) => onProgress(progress))
        return textOf(
          await session.callTool(name, args, { ...(signal && { signal }), ...(onprogress && { onprogress }) }),
        )
      },
      close: () => client.closeAllSessions(),
    }
  },
}
