import { MCPClient } from '@mastra/mcp'

const VERSIONS = { session: 'legacy', stateless: '2026-07-28' }

/** @type {import('../../driver.ts').Driver} */
export default {
  async open(target, { answers, era }) {
    const where = 'url' in target ? { url: new URL(target.url) } : { ...target, stderr: 'ignore' }
    const client = new MCPClient({
      id: `interop-${performance.now()}`, // it refuses a second client with the same configuration
      servers: {
        interop: {
          ...where,
          protocolVersion: VERSIONS[era],
          enableProgressTracking: true,
          inputRequests: async () => answers.elicit(),
        },
      },
    })
    const { interop: tools, errors } = await toolsOf(client)
    if (tools === undefined) throw new Error(errors)
    let heard = () => {}
    await client.progress.onUpdate('interop', ({ progress }) => heard(progress))
    return {
      list: async () => Object.keys((await toolsOf(client)).interop),
      call: async (name, args, { signal, onProgress = () => {} }) => {
        heard = onProgress
        const result = await tools[name].execute(args, signal && { abortSignal: signal })
        return result?.content?.[0]?.text ?? JSON.stringify(result)
      },
      close: () => client.disconnect(),
    }
  },
}

async function toolsOf(client) {
  const { toolsets, errors } = await client.listToolsetsWithErrors()
  return { ...toolsets, errors: JSON.stringify(errors) }
}
